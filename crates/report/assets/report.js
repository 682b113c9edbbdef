// Draws the charts of a report, and switches between light and dark.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;

  // --- drawing ---

  const places = [...document.querySelectorAll("[data-figure]")];
  const drawn = new Map();
  const groups = new Map();
  let following = false;
  const PRINT_WIDTH = 660;

  function draw(place, printing) {
    const figure = data.figures[Number(place.dataset.figure)];
    const width = printing ? PRINT_WIDTH : place.clientWidth;
    const { height, timed, ...option } = charts.options(figure, width, printing);
    const size = { width, height };
    place.style.height = height + "px";
    let chart = drawn.get(place);
    if (!chart) {
      chart = echarts.init(place, null, Object.assign({ renderer: "svg" }, size));
      drawn.set(place, chart);
      if (timed) together(chart, place.closest("section"));
    }
    chart.resize(size);
    chart.setOption(option, { notMerge: true });
    place.dataset.drawn = figure.chart;
  }

  // All charts of a section over simulated time zoom together.
  function together(chart, section) {
    const group = groups.get(section) || [];
    groups.set(section, group.concat([chart]));
    const follow = () => {
      if (following) return;
      following = true;
      const { start, end } = chart.getOption().dataZoom[0] || { start: 0, end: 100 };
      const others = groups.get(section).filter((other) => other !== chart);
      others.forEach((other) => other.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start, end }));
      following = false;
    };
    chart.on("datazoom", follow);
    chart.on("restore", follow);
  }

  // Draws one chart after another, so that a page with many charts stays responsive.
  let queue = [];
  function next() {
    const place = queue.shift();
    if (!place) {
      root.dataset.drawn = String(drawn.size);
      return;
    }
    draw(place, false);
    setTimeout(next, 0);
  }
  function drawAll() {
    const idle = queue.length === 0;
    queue = [...places];
    delete root.dataset.drawn;
    if (idle) next();
  }

  // --- light and dark ---

  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const THEMES = ["auto", "light", "dark"];
  const asked = new URLSearchParams(location.search).get("theme");
  let theme = THEMES.includes(asked) ? asked : "auto";

  function wear(printing) {
    const dark = !printing && (theme === "dark" || (theme === "auto" && system.matches));
    root.dataset.theme = dark ? "dark" : "light";
  }

  function choose(chosen) {
    theme = chosen;
    wear(false);
    drawAll();
  }

  function control(element, text, event, act) {
    element.textContent = text;
    element.addEventListener(event, act);
    document.getElementById("controls").append(element);
    return element;
  }

  const select = control(document.createElement("select"), "", "change", () => choose(select.value));
  select.setAttribute("aria-label", "colours");
  THEMES.forEach((name) => select.add(new Option(name, name, false, name === theme)));
  const button = () => Object.assign(document.createElement("button"), { type: "button" });
  control(button(), "JSON", "click", () => {
    const link = document.createElement("a");
    link.href = "data:application/json," + encodeURIComponent(JSON.stringify(data.result, null, 2));
    link.download = "flashloom.json";
    link.click();
  }).title = "save the numbers of this page";
  control(button(), "print", "click", () => window.print());
  document.getElementById("controls").hidden = false;
  system.addEventListener("change", () => choose(theme));

  // --- printing and resizing ---

  window.addEventListener("beforeprint", () => {
    wear(true);
    queue = [];
    places.forEach((place) => draw(place, true));
  });
  window.addEventListener("afterprint", () => choose(theme));

  let width = window.innerWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 100);
  });

  wear(false);
  drawAll();
})();

// Draws the charts of a report and what goes with them: legends, tables, keys; switches between light and dark.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const made = (name, more) => Object.assign(document.createElement(name), more);

  // --- drawing ---

  const places = [...document.querySelectorAll("[data-figure]")];
  const figureOf = (place) => data.figures[Number(place.dataset.figure)];
  const drawn = new Map();
  const hidden = new Map(places.map((place) => [place, new Set()]));
  const groups = new Map();
  let following = false;
  // Two charts beside each other on A4.
  const PRINT_WIDTH = 322;

  function draw(place, printing) {
    const figure = figureOf(place);
    const width = printing ? PRINT_WIDTH : place.clientWidth;
    const { height, timed, hatches, ...option } = charts.options(figure, width, printing, hidden.get(place));
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
    // The chart's own description is that of its place.
    place.querySelector("svg").setAttribute("aria-hidden", "true");
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

  // --- legends, tables and keys of each chart ---

  function addLegend(place) {
    const entries = legend.entries(figureOf(place));
    if (!entries.length) return;
    const list = made("ul", { className: "legend" });
    for (const { name, swatch, toggles } of entries) {
      const entry = made(toggles && entries.length > 1 ? "button" : "span", { innerHTML: swatch });
      entry.append(name);
      if (entry.type === "submit") {
        entry.type = "button";
        entry.setAttribute("aria-pressed", "true");
        entry.addEventListener("click", () => {
          const off = hidden.get(place);
          if (!off.delete(name)) off.add(name);
          entry.setAttribute("aria-pressed", String(!off.has(name)));
          draw(place, false);
        });
      }
      const item = made("li");
      item.append(entry);
      list.append(item);
    }
    place.before(list);
  }

  // More rows say nothing that the chart does not, and take long.
  const MOST_ROWS = 500;

  function addTable(place) {
    const details = made("details");
    details.append(made("summary", { textContent: "numbers of this chart" }));
    const fill = () => {
      const { header, rows } = describe.table(figureOf(place));
      const table = made("table");
      const first = rows.length > MOST_ROWS ? `, the first ${MOST_ROWS} of ${rows.length} rows` : "";
      table.append(made("caption", { className: "unseen", textContent: headingOf(place) + first }));
      const line = (cells, head) => {
        const row = made("tr");
        cells.forEach((text, i) => {
          const cell = made(head && text ? "th" : i === 0 && text ? "th" : "td", { textContent: text });
          if (cell.tagName === "TH") cell.scope = head ? "col" : "row";
          if (i === 0) cell.dataset.text = "";
          row.append(cell);
        });
        return row;
      };
      const [head, body] = [made("thead"), made("tbody")];
      head.append(line(header, true));
      body.append(...rows.slice(0, MOST_ROWS).map((row) => line(row, false)));
      table.append(head, body);
      const wide = made("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: headingOf(place) + ", numbers" });
      wide.append(table);
      details.append(wide);
    };
    details.addEventListener("toggle", fill, { once: true });
    place.after(details);
  }

  const headingOf = (place) => place.closest("figure").querySelector("h3").textContent;

  // The arrow keys visit the values of a chart, and a text says each of them.
  const said = made("p", { className: "unseen" });
  said.setAttribute("aria-live", "polite");
  document.body.append(said);

  function addKeys(place) {
    place.tabIndex = 0;
    place.setAttribute("role", "application");
    place.setAttribute("aria-roledescription", "chart");
    place.setAttribute("aria-label", `${headingOf(place)}. ${describe.words(figureOf(place))} Arrow keys visit its values.`);
    let all = null;
    let at = null;
    const jump = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], PageDown: [0, 20], PageUp: [0, -20], Home: [0, -1e9], End: [0, 1e9] };
    place.addEventListener("keydown", (event) => {
      const chart = drawn.get(place);
      if (event.key === "Escape") chart.dispatchAction({ type: "hideTip" });
      const by = jump[event.key];
      if (!by || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      all = all || describe.places(figureOf(place));
      const rows = all.filter((row) => !hidden.get(place).has(row[0].series));
      if (!rows.length) return;
      const [row, column] = at ? [at[0] + by[0], at[1] + by[1]] : [0, 0];
      const within = (value, length) => Math.min(Math.max(value, 0), length - 1);
      const here = within(row, rows.length);
      at = [here, within(column, rows[here].length)];
      const { series, data, says } = rows[at[0]][at[1]];
      said.textContent = says;
      place.dataset.at = says;
      const index = typeof series === "number" ? series : chart.getOption().series.findIndex((one) => one.name === series);
      chart.dispatchAction({ type: "showTip", seriesIndex: Math.max(index, 0), dataIndex: data });
    });
    place.addEventListener("blur", () => drawn.get(place).dispatchAction({ type: "hideTip" }));
  }

  // --- words of the glossary, and tables that scroll ---

  const says = made("div", { id: "says", hidden: true, role: "tooltip" });
  document.body.append(says);
  function explain(term) {
    const line = document.getElementById(term.getAttribute("aria-describedby"));
    says.textContent = line.textContent;
    says.hidden = false;
    const box = term.getBoundingClientRect();
    const most = root.clientWidth - says.offsetWidth - 8;
    says.style.left = window.scrollX + Math.max(8, Math.min(box.left, most)) + "px";
    says.style.top = window.scrollY + box.bottom + 4 + "px";
  }
  const hush = () => (says.hidden = true);
  for (const term of document.querySelectorAll("a.term")) {
    ["mouseenter", "focus"].forEach((name) => term.addEventListener(name, () => explain(term)));
    term.addEventListener("blur", hush);
    // The pointer may go from the word to what it says.
    term.addEventListener("mouseleave", (event) => event.relatedTarget === says || hush());
  }
  says.addEventListener("mouseleave", hush);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hush());

  function hints() {
    for (const wide of document.querySelectorAll("main .wide")) {
      const hint = wide.previousElementSibling;
      if (hint && hint.matches(".hint")) hint.hidden = wide.scrollWidth <= wide.clientWidth + 1;
    }
  }
  document.querySelectorAll("details").forEach((details) => details.addEventListener("toggle", hints));

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
  const button = () => made("button", { type: "button" });
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
    waiting = setTimeout(() => (drawAll(), hints()), 100);
  });

  wear(false);
  hints();
  places.forEach((place) => {
    addLegend(place);
    addTable(place);
    addKeys(place);
  });
  drawAll();
})();

// Charts over the last two minutes: lines on a linear or logarithmic axis, and shares stacked on each other.
"use strict";

const lines = (() => {
  const SECONDS = 120;
  // A chart is as wide as it has points for, so that a young drive's are not squeezed into its right end.
  const WIDTHS = [15, 30, 60, SECONDS];
  const HEIGHT = 150;
  const EDGE = { left: 50, right: 6, top: 6, bottom: 18 };
  const NS = "http://www.w3.org/2000/svg";

  function element(name, attributes, parent) {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (parent) parent.append(made);
    return made;
  }

  // The smallest round number that is no smaller.
  function round(value) {
    const power = Math.pow(10, Math.floor(Math.log10(value)));
    return [1, 1.5, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value * 0.999999);
  }

  function linear(most, least) {
    const top = round(Math.max(most, least));
    return {
      marks: [0, top / 2, top],
      at: (value) => value / top,
    };
  }

  // From a power of ten to another one; at most five marks.
  function logarithmic(low, high) {
    const from = Math.floor(Math.log10(low) + 1e-9);
    const to = Math.max(Math.ceil(Math.log10(high) - 1e-9), from + 1);
    const step = Math.ceil((to - from) / 4);
    const marks = [];
    for (let power = from; power <= to; power += step) marks.push(Math.pow(10, power));
    return { marks, at: (value) => (Math.log10(Math.max(value, Math.pow(10, from))) - from) / (to - from) };
  }

  // A value as a text. What is counted one by one has no digits behind the point, and nothing is 0.
  function shown(unit, value) {
    if (value === 0 && unit !== "share" && unit !== "plain") return unit === "per-second" ? "0/s" : unit === "rate" ? "0B/s" : "0";
    return unit === "whole" && value !== null ? String(value) : numbers.show(unit === "whole" ? "count" : unit, value);
  }

  function swatch(series, stacked) {
    const svg = element("svg", { viewBox: "0 0 18 10", "aria-hidden": "true" });
    if (stacked) element("rect", { x: 0, y: 0, width: 18, height: 10, rx: 2, fill: `var(${series.colour})` }, svg);
    else element("path", { d: "M1,5H17", class: "line", stroke: `var(${series.colour})`, "stroke-dasharray": series.dash || "" }, svg);
    return svg;
  }

  // A chart in `figure`: { unit: one of numbers.js or "whole", series: [{ name, of, colour, dash }], scale: "log" or nothing, stacked, least }.
  function chart(figure, options) {
    const place = document.createElement("div");
    place.className = "chart";
    const svg = element("svg", { height: HEIGHT, role: "img", "aria-label": options.label }, null);
    place.append(svg);
    const legend = document.createElement("ul");
    legend.className = "legend";
    const entries = options.series.map((series) => {
      const item = document.createElement("li");
      const value = document.createElement("b");
      item.append(swatch(series, options.stacked), series.name + " ", value);
      legend.append(item);
      return { item, value };
    });
    figure.append(place, legend);
    const back = element("g", {}, svg);
    const paths = options.series.map((series) =>
      options.stacked
        ? element("path", { fill: `var(${series.colour})`, stroke: "none" }, svg)
        : element("path", { class: "line", stroke: `var(${series.colour})`, "stroke-dasharray": series.dash || "" }, svg),
    );
    const cursor = element("path", { class: "cursor", visibility: "hidden" }, svg);
    let drawn = "";
    let seconds = SECONDS;

    function axis(points) {
      if (options.stacked) return { marks: [0, 0.5, 1], at: (value) => Math.min(value, 1) };
      const values = points.flatMap((point) => options.series.map((series) => series.of(point))).filter((value) => value !== null);
      if (options.scale === "log") {
        const above = values.filter((value) => value > 0);
        return above.length ? logarithmic(Math.min(...above), Math.max(...above)) : logarithmic(1, 1000);
      }
      return linear(values.length ? Math.max(...values) : 0, options.least || 1);
    }

    // Draws the points; `seen` is the one under the pointer, or the last.
    function draw(points, seen, pointed) {
      const width = Math.max(place.clientWidth, 200);
      const now = points.length ? points[points.length - 1].t : 0;
      seconds = WIDTHS.find((width) => points.length && now - points[0].t <= width * 1.02) || SECONDS;
      const x = (t) => EDGE.left + (1 - (now - t) / seconds) * (width - EDGE.left - EDGE.right);
      const scale = axis(points);
      const y = (value) => HEIGHT - EDGE.bottom - scale.at(value) * (HEIGHT - EDGE.top - EDGE.bottom);
      const at = (t, value) => x(t).toFixed(1) + "," + y(value).toFixed(1);
      const key = [width, seconds, ...scale.marks].join(" ");
      if (key !== drawn) {
        drawn = key;
        back.replaceChildren();
        for (const mark of scale.marks) {
          element("path", { class: "grid", d: `M${EDGE.left},${y(mark).toFixed(1)}H${width - EDGE.right}` }, back);
          const text = element("text", { x: EDGE.left - 6, y: y(mark) + 4, "text-anchor": "end" }, back);
          text.textContent = numbers.tick(options.unit === "whole" ? "count" : options.unit, mark);
        }
        for (const [ago, name, anchor] of [[seconds, `-${seconds} s`, "start"], [seconds / 2, `-${seconds / 2} s`, "middle"], [0, "now", "end"]]) {
          const text = element("text", { x: x(now - ago), y: HEIGHT - 4, "text-anchor": anchor }, back);
          text.textContent = name;
        }
      }
      if (options.stacked) {
        let below = points.map(() => 0);
        options.series.forEach((series, i) => {
          const above = points.map((point, n) => below[n] + series.of(point));
          const up = points.map((point, n) => at(point.t, above[n]));
          const down = points.map((point, n) => at(point.t, below[n])).reverse();
          paths[i].setAttribute("d", points.length > 1 ? "M" + up.concat(down).join("L") + "Z" : "");
          below = above;
          // A cause that never worked is not named.
          entries[i].item.style.display = points.some((point) => series.of(point) > 0) ? "" : "none";
        });
      } else {
        options.series.forEach((series, i) => {
          let path = "";
          let pen = "M";
          for (const point of points) {
            const value = series.of(point);
            if (value === null) {
              // A point between two gaps is a dot.
              pen = "M";
            } else {
              path += pen + at(point.t, value) + (pen === "M" ? "h0.01" : "");
              pen = "L";
            }
          }
          paths[i].setAttribute("d", path);
        });
      }
      options.series.forEach((series, i) => {
        entries[i].value.textContent = shown(options.unit, seen ? series.of(seen) : null);
      });
      cursor.setAttribute("visibility", pointed && seen ? "visible" : "hidden");
      if (pointed && seen) cursor.setAttribute("d", `M${x(seen.t).toFixed(1)},${EDGE.top}V${HEIGHT - EDGE.bottom}`);
    }

    // The time under the pointer, in seconds before the last point.
    function ago(event) {
      const box = place.getBoundingClientRect();
      const share = (event.clientX - box.left - EDGE.left) / (box.width - EDGE.left - EDGE.right);
      return (1 - Math.min(Math.max(share, 0), 1)) * seconds;
    }

    return { draw, ago, place };
  }

  return { chart, element, shown, SECONDS };
})();

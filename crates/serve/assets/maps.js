// The dies of the arrays, the parts of the drive, its zones, and the wear of its blocks.
"use strict";

const maps = (() => {
  const GAP = 3;

  // The dies, a row for each channel. A die's colour is the stronger, the longer its array worked in the last moment.
  function dies(figure) {
    const place = document.createElement("div");
    place.className = "chart";
    figure.append(place);
    const scale = document.createElement("ul");
    scale.className = "legend";
    figure.append(scale);
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const item = document.createElement("li");
      const svg = lines.element("svg", { viewBox: "0 0 18 10", "aria-hidden": "true" });
      lines.element("rect", { x: 0, y: 0, width: 18, height: 10, rx: 2, class: "die", style: colour(share) }, svg);
      item.append(svg, share * 100 + "%");
      scale.append(item);
    }
    let key = "";
    let cells = [];
    let shown = [];

    const part = (array) => (array.drive === null ? "" : `drive ${array.drive}, `) + (array.is_slc ? "SLC array, " : "");

    function layOut(arrays, width) {
      place.replaceChildren();
      cells = arrays.map((array, number) => {
        const label = 44;
        const across = Math.max(4, (width - label) / array.dies);
        const size = Math.min(across, 120);
        const height = Math.max(10, Math.min(26, 300 / array.channels));
        const svg = lines.element("svg", {
          height: array.channels * height + 2,
          role: "img",
          "aria-label": `${part(array)}${array.channels} channels with ${array.dies} dies each`,
        });
        if (number > 0) svg.style.marginTop = ".6rem";
        place.append(svg);
        return array.busy.map((_, die) => {
          const [channel, place] = [Math.floor(die / array.dies), die % array.dies];
          if (place === 0) {
            const text = lines.element("text", { x: 0, y: channel * height + height / 2 + 4 }, svg);
            text.textContent = (array.drive === null ? "" : `${array.drive}: `) + (array.is_slc ? "SLC " : "ch ") + channel;
          }
          const gap = size > 8 ? GAP : 1;
          const cell = lines.element("rect", {
            x: (label + place * size).toFixed(1), y: (channel * height + 1).toFixed(1),
            width: (size - gap).toFixed(1), height: (height - gap).toFixed(1), rx: 2, class: "die",
          }, svg);
          const title = lines.element("title", {}, cell);
          return { cell, title, name: `${part(array)}channel ${channel}, die ${place}` };
        });
      });
      shown = arrays.map((array) => array.busy.map(() => 0));
    }

    function draw(arrays) {
      const width = Math.max(place.clientWidth, 200);
      const wanted = width + arrays.map((array) => ` ${array.channels}x${array.dies}`).join();
      if (wanted !== key) {
        key = wanted;
        layOut(arrays, width);
      }
      arrays.forEach((array, i) => array.busy.forEach((share, die) => {
        // Over about a second.
        shown[i][die] += (share - shown[i][die]) * 0.4;
        const { cell, title, name } = cells[i][die];
        cell.setAttribute("style", colour(shown[i][die]));
        title.textContent = `${name}: ${numbers.show("share", shown[i][die])} busy`;
      }));
    }

    return { draw };
  }

  function colour(share) {
    const percent = Math.round(Math.min(Math.max(share, 0), 1) * 100);
    return `fill: color-mix(in oklab, var(--busy) ${percent}%, var(--idle))`;
  }

  // A bar for each part.
  function bars(figure) {
    const place = document.createElement("div");
    place.className = "bars";
    figure.append(place);
    const rows = new Map();
    function draw(parts) {
      for (const [name, share] of parts) {
        if (!rows.has(name)) {
          const [label, bar, value] = ["span", "i", "span"].map((kind) => document.createElement(kind));
          label.textContent = name;
          value.className = "share";
          place.append(label, bar, value);
          rows.set(name, { bar, value });
        }
        const { bar, value } = rows.get(name);
        bar.style.setProperty("--share", Math.min(share, 1));
        value.textContent = numbers.show("share", share);
      }
    }
    return { draw };
  }

  // How many blocks were erased how often.
  function wear(figure, note) {
    const HEIGHT = 150;
    const place = document.createElement("div");
    place.className = "chart";
    figure.append(place);
    const svg = lines.element("svg", { height: HEIGHT, role: "img", "aria-label": "blocks by their number of erases" });
    place.append(svg);
    let last = null;
    function draw(wear) {
      last = wear || last;
      if (!last) return;
      const width = Math.max(place.clientWidth, 200);
      const { least, most, mean, rated, blocks } = last;
      svg.replaceChildren();
      const top = Math.max(...blocks);
      const step = Math.min((width - 56) / blocks.length, 60);
      const foot = HEIGHT - 18;
      for (const mark of [0, top]) {
        const y = foot - (mark / top) * (foot - 8);
        lines.element("path", { class: "grid", d: `M50,${y}H${width - 6}` }, svg);
        const text = lines.element("text", { x: 44, y: y + 4, "text-anchor": "end" }, svg);
        text.textContent = numbers.tick("count", mark);
      }
      blocks.forEach((count, i) => {
        const height = (count / top) * (foot - 8);
        const bar = lines.element("rect", {
          x: 51 + i * step, y: foot - height, width: Math.max(step - 2, 1), height, fill: "var(--c0)",
        }, svg);
        const from = least + i * last.width;
        const to = Math.min(from + last.width - 1, most);
        const title = lines.element("title", {}, bar);
        title.textContent = `${count} blocks were erased ${from === to ? from : from + " to " + to} times`;
      });
      const ends = least === most ? [[51 + step / 2, least, "middle"]] : [[51, least, "start"], [51 + blocks.length * step, most, "end"]];
      for (const [x, value, anchor] of ends) {
        const text = lines.element("text", { x, y: HEIGHT - 4, "text-anchor": anchor }, svg);
        text.textContent = `${value} erases`;
      }
      note.textContent = `Blocks by their number of erases: least ${least}, mean ${mean.toFixed(1)}, most ${most}, of ${rated} for which they are rated`;
    }
    return { draw };
  }

  // The zones in their order, from left to right and down. The colour is that of the state, the stronger the more of the zone is written.
  function zones(figure, note) {
    const STATES = { e: ["empty", "--c7"], o: ["open", "--c0"], c: ["closed", "--c4"], f: ["full", "--c2"], r: ["read only", "--bad"], x: ["offline", "--bad"] };
    const HEIGHT = 260;
    const place = document.createElement("div");
    place.className = "chart";
    const legend = document.createElement("ul");
    legend.className = "legend";
    figure.append(place, legend);
    const svg = lines.element("svg", { role: "img", "aria-label": "the zones by state and write pointer" });
    place.append(svg);
    let cells = [];
    let key = "";
    let last = null;

    function layOut(count, width) {
      svg.replaceChildren();
      const size = Math.max(3, Math.min(22, Math.floor(Math.sqrt((width * HEIGHT) / count))));
      const across = Math.floor(width / size);
      svg.setAttribute("height", Math.ceil(count / across) * size);
      const gap = size > 6 ? 2 : 0.5;
      cells = Array.from({ length: count }, (_, zone) => {
        const [x, y] = [(zone % across) * size, Math.floor(zone / across) * size];
        const cell = lines.element("rect", { x, y, width: size - gap, height: size - gap, rx: size > 6 ? 2 : 0, class: "die" }, svg);
        return { cell, title: lines.element("title", {}, cell) };
      });
    }

    const colour = (name, written) => `fill: color-mix(in oklab, var(${name}) ${written}%, var(--idle))`;

    function draw(zones) {
      last = zones || last;
      if (!last) return;
      const { states, written, limits } = last;
      const width = Math.max(place.clientWidth, 200);
      if (key !== `${width} ${states.length}`) {
        key = `${width} ${states.length}`;
        layOut(states.length, width);
      }
      const counts = {};
      cells.forEach(({ cell, title }, zone) => {
        const state = states[zone];
        const [name, tint] = STATES[state];
        counts[state] = (counts[state] || 0) + 1;
        // An open zone stands out even if little of it is written.
        cell.setAttribute("style", colour(tint, state === "e" ? 0 : 45 + written[zone] * 0.55));
        title.textContent = `zone ${zone}: ${name}, ${written[zone]} % written`;
      });
      legend.replaceChildren(...Object.entries(STATES).filter(([state]) => counts[state]).map(([state, [name, tint]]) => {
        const item = document.createElement("li");
        const mark = lines.element("svg", { viewBox: "0 0 18 10", "aria-hidden": "true" });
        lines.element("rect", { x: 0, y: 0, width: 18, height: 10, rx: 2, class: "die", style: colour(tint, state === "e" ? 0 : 100) }, mark);
        item.append(mark, `${counts[state]} ${name}`);
        return item;
      }));
      note.textContent = `Each zone by its state, and how far its write pointer is; at most ${limits[0]} active and ${limits[1]} open`;
    }
    return { draw };
  }

  return { dies, bars, zones, wear };
})();

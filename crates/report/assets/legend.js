// The legend of each figure, as HTML beside the chart: a legend inside the chart would leave entries out on a phone and on paper.
"use strict";

const legend = (() => {
  const { PALETTE, SYMBOLS } = charts;

  // The entries of a figure's legend: a name, and a swatch as SVG in the colours of the style sheet.
  function entries(figure) {
    const swatch = (inside) => '<svg viewBox="0 0 22 12" aria-hidden="true">' + inside + "</svg>";
    const fill = (number) => "var(--c" + (number % PALETTE) + ")";
    const line = (number) =>
      swatch(
        '<path d="M0 6H22" stroke="' + fill(number) + '" stroke-width="2.5"' +
          (number < PALETTE ? "" : ' stroke-dasharray="4 3"') + "/>",
      );
    const block = (number) =>
      swatch(
        '<rect x="3" width="16" height="12" fill="' + fill(number) + '"/>' +
          (number < PALETTE ? "" : '<path d="M4 12L14 0M10 12L19 1" stroke="var(--card)" stroke-width="2"/>'),
      );
    const SHAPES = ["M5 6a6 6 0 0 1 12 0a6 6 0 0 1-12 0", "M6 1H16V11H6Z", "M11 0L17 11H5Z", "M11 0L17 6L11 12L5 6Z"];
    const point = (number, joined) => {
      const hollow = number % SYMBOLS.length >= SHAPES.length;
      const paint = hollow ? 'fill="var(--card)" stroke-width="2" stroke="' : 'fill="' + fill(number) + '" stroke="';
      return swatch(
        (joined ? '<path d="M0 6H22" stroke="' + fill(number) + '" stroke-width="2"/>' : "") +
          '<path transform="translate(3 1.5) scale(.73)" d="' + SHAPES[number % SHAPES.length] + '" ' + paint + fill(number) + '"/>',
      );
    };
    const of = (list, draw) => list.map(({ name, colour }) => ({ name, swatch: draw(colour), toggles: true }));
    const { chart, lines, rows } = figure;
    if (chart === "lines" || chart === "paths") return lines.length > 1 ? of(lines, line) : [];
    if (chart === "courses") {
      const bars = names.isBars(figure);
      const named = lines.length > 1 || (figure.marks || []).length;
      const all = named ? of(lines, (number) => (bars ? block(number) : point(number, Boolean(figure.x.places)))) : [];
      const diamond = swatch('<path d="M11 1L16 6L11 11L6 6Z" fill="none" stroke="var(--ink)" stroke-width="1.5"/>');
      const stated = new Set((figure.marks || []).map((mark) => mark.name));
      return all.concat([...stated].map((name) => ({ name, swatch: diamond, toggles: false })));
    }
    if (chart === "stacks") {
      const parts = new Map(rows.flatMap((row) => row.parts).map((part) => [part.name, part]));
      return of([...parts.values()].sort((a, b) => a.colour - b.colour), block);
    }
    if (chart === "areas") return of(figure.layers, block);
    if (chart === "heat" || chart === "grid") {
      const { cover, unit, label } = chart === "heat" ? figure.colours : { cover: [0, 1], unit: "share", label: "busy" };
      const mix = (share) => "color-mix(in srgb, var(--busy) " + share + "%, var(--idle))";
      const at = (share) => cover[0] + ((cover[1] - cover[0]) * share) / 100;
      const text = (value) => (value === 0 && unit === "share" ? "0%" : numbers.tick(unit, value));
      const step = (share) => ({
        name: text(at(share)) + " " + label,
        swatch: swatch('<rect x="1" y="1" width="20" height="10" stroke="var(--soft)" style="fill:' + mix(share) + '"/>'),
        toggles: false,
      });
      return (cover[1] > cover[0] ? [0, 25, 50, 75, 100] : [50]).map(step);
    }
    if (chart === "lanes") {
      const causes = new Map();
      figure.lanes.flatMap((lane) => lane.slices).forEach((slice) => causes.set(slice.cause, slice.colour));
      const all = [...causes].filter(([name]) => name).map(([name, colour]) => ({ name, colour }));
      return of(all, block).map((entry) => Object.assign(entry, { toggles: false }));
    }
    return [];
  }

  return { entries };
})();

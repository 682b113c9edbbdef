// Each figure in words and as a table, and the places in it that the arrow keys visit: for those who do not see the chart,
// or want its numbers. Everything here reads the figure's own numbers, never positions on an axis.
"use strict";

const describe = (() => {
  const { show, on } = numbers;

  const few = (list) => (list.length > 12 ? list.slice(0, 12).concat([list.length - 12 + " more"]) : list).join(", ");
  const known = (values) => values.filter((value) => value !== null && value !== undefined);
  const scale = (axis) => ({ log: " on a logarithmic scale", nines: " on a scale by nines" })[axis.scale] || "";
  const between = (axis, values) => {
    const all = known(values);
    return all.length ? "from " + on(axis, Math.min(...all)) + " to " + on(axis, Math.max(...all)) : "without values";
  };
  const line = (axis, name, values) => name + " " + between(axis, values);
  const total = (row) => row.parts.reduce((sum, part) => sum + part.value, 0);
  const whole = (x, row) => row.label || show(x.unit, total(row));

  const WORDS = {
    lines: ({ x, y, lines }) =>
      `Line chart of ${y.label}${scale(y)} by ${x.label}${scale(x)}, ` +
      between(x, lines.flatMap((one) => one.points.map(([at]) => at))) +
      `. ${few(lines.map((one) => line(y, one.name, one.points.map(([, value]) => value))))}.`,
    courses: ({ x, y, lines, marks }) =>
      `${x.places ? "Line chart" : "Chart"} of ${y.label}${scale(y)} by ${x.label}: ${few(x.names)}. ` +
      `${few(lines.map((one) => line(y, one.name, one.values)))}.` +
      (marks && marks.length ? ` ${marks.length} stated ${marks.length === 1 ? "value" : "values"} beside them.` : ""),
    stacks: ({ x, rows }) =>
      `Bars of ${x.label}, divided into parts. ${few(rows.map((row) => row.name + " " + whole(x, row)))}.`,
    paths: ({ x, y, lines }) =>
      `Lines of ${y.label}${scale(y)} by ${x.label}${scale(x)}, ` +
      between(x, lines.flatMap((one) => one.points.map((stop) => stop.at[0]))) +
      `. ${few(lines.map((one) => line(y, one.name, one.points.map((stop) => stop.at[1]))))}.`,
    areas: ({ x, y, edges, layers }) =>
      `Stacked areas of ${y.label} over ${x.label} ${between(x, edges)}. ` +
      `${few(layers.map((layer) => line(y, layer.name, layer.values)))}.`,
    heat: ({ x, edges, colours, rows }) =>
      `Colours for ${colours.label}, by row and ${x.label} ${between(x, edges)}. ` +
      `${few(rows.map((row) => line(colours, row.name, row.values)))}.`,
    grid: ({ x, y, values }) =>
      `Shares of time for which each die was busy, by ${y.label} and ${x.label}, ` +
      between({ unit: "share" }, values.flat()) +
      ".",
    lanes: ({ x, lanes }) =>
      `What each resource did over ${x.label}: ${few(lanes.map((lane) => `${lane.name} ${lane.slices.length} activities`))}.`,
    bars: ({ x, y, bars }) =>
      `Bars of ${y.label} by ${x.label}, ${between(y, bars.map(([, , height]) => height))}, for ` +
      between(x, bars.flatMap(([from, to]) => [from, to - 1])) +
      ".",
  };
  const words = (figure) => WORDS[figure.chart](figure);

  const spread = (y, range) => (range ? `, ${show(y.unit, range[0])} to ${show(y.unit, range[1])}` : "");
  const stated = (marks, at) => (marks || []).filter((mark) => mark.at === at).map((mark) => `, ${mark.name} ${mark.says}`).join("");

  // The places that the arrow keys visit: rows, one for each series or resource, of places with a text.
  const PLACES = {
    lines: ({ x, y, lines }) =>
      lines.map(({ name, points, spread: ranges }) =>
        points.map(([at, value], data) => {
          const range = (ranges || []).find(([place]) => place === at);
          return { series: name, data, says: `${name}, ${on(x, at)}: ${show(y.unit, value)}${spread(y, range && range.slice(1))}` };
        }),
      ),
    courses: ({ x, y, lines, marks }) =>
      lines.map(({ name, values, spread: ranges }) =>
        values.map((value, data) => ({
          series: name,
          data,
          says: `${name}, ${x.names[data]}: ${show(y.unit, value)}${spread(y, (ranges || [])[data])}${stated(marks, data)}`,
        })),
      ),
    stacks: ({ x, rows }) =>
      rows.map((row, data) =>
        [{ series: "sum", data, says: `${row.name}: ${whole(x, row)}` }].concat(
          row.parts.map((part) => ({ series: part.name, data, says: `${row.name}, ${part.name}: ${show(x.unit, part.value)}` })),
        ),
      ),
    paths: ({ x, y, lines }) =>
      lines.map(({ name, points }) =>
        points.map((stop, data) => ({
          series: name,
          data,
          says: `${name}, ${stop.name}, ${on(x, stop.at[0])}: ${show(y.unit, stop.at[1])}${spread(y, stop.spread)}`,
        })),
      ),
    areas: ({ x, y, edges, layers }) =>
      layers.map(({ name, values }) =>
        values.map((value, i) => ({
          series: name,
          data: i,
          says: `${name}, ${charts.between(x, edges[i], edges[i + 1])}: ${show(y.unit, value)}`,
        })),
      ),
    heat: ({ x, edges, colours, rows }) =>
      rows.map(({ name, values }, row) =>
        values.map((value, i) => ({
          series: colours.label,
          data: row * values.length + i,
          says: `${name}, ${charts.between(x, edges[i], edges[i + 1])}: ${show(colours.unit, value)} ${colours.label}`,
        })),
      ),
    grid: ({ x, y, values }) =>
      values.map((row, i) =>
        row.map((value, j) => ({
          series: 0,
          data: i * row.length + j,
          says: `${y.label} ${y.names[i]}, ${x.label} ${x.names[j]}: ${show("share", value)} busy`,
        })),
      ),
    lanes: ({ x, lanes }) => {
      let data = -1;
      const says = (lane, { from, to, name }) => `${lane.name}, ${show(x.unit, from)}: ${name}, ${show(x.unit, to - from)}`;
      return lanes.map((lane) => lane.slices.map((slice) => ({ series: "what it did", data: (data += 1), says: says(lane, slice) })));
    },
    bars: ({ x, y, bars }) => [
      bars.map((bar, data) => ({ series: 0, data, says: `${charts.range(x, bar)} ${x.label}: ${show(y.unit, bar[2])} ${y.label}` })),
    ],
  };
  const places = (figure) => PLACES[figure.chart](figure).filter((row) => row.length);

  // The numbers of the figure as a table: a header and rows of texts.
  const TABLES = {
    lines: ({ x, y, lines }) => ({
      header: ["", x.label, y.label],
      rows: lines.flatMap(({ name, points }) => points.map(([at, value]) => [name, on(x, at), show(y.unit, value)])),
    }),
    courses: ({ x, y, lines, marks }) => {
      const sources = [...new Set((marks || []).map((mark) => mark.name))];
      const at = (i) => (name) => (marks || []).filter((mark) => mark.at === i && mark.name === name).map((mark) => mark.says).join("; ") || "-";
      return {
        header: [x.label].concat(lines.map((one) => one.name), sources),
        rows: x.names.map((name, i) =>
          [name].concat(
            lines.map((one) => show(y.unit, one.values[i]) + ((one.spread || [])[i] ? ` (${spread(y, one.spread[i]).slice(2)})` : "")),
            sources.map(at(i)),
          ),
        ),
      };
    },
    stacks: ({ x, rows }) => {
      const names = [...new Set(rows.flatMap((row) => row.parts.map((part) => part.name)))];
      const part = (row) => (name) => row.parts.filter((one) => one.name === name).map((one) => show(x.unit, one.value))[0] || "-";
      return { header: [""].concat(names, ["all"]), rows: rows.map((row) => [row.name].concat(names.map(part(row)), [whole(x, row)])) };
    },
    paths: ({ x, y, lines }) => ({
      header: ["", "point", x.label, y.label],
      rows: lines.flatMap(({ name, points }) =>
        points.map((stop) => {
          const range = stop.spread ? ` (${spread(y, stop.spread).slice(2)})` : "";
          return [name, stop.name, on(x, stop.at[0]), show(y.unit, stop.at[1]) + range];
        }),
      ),
    }),
    areas: ({ x, y, edges, layers }) => ({
      header: [x.label].concat(layers.map((layer) => layer.name), ["all"]),
      rows: edges.slice(1).map((to, i) => {
        const values = layers.map((layer) => layer.values[i]);
        const all = values.reduce((sum, value) => sum + value, 0);
        return [charts.between(x, edges[i], to)].concat(values.concat([all]).map((value) => show(y.unit, value)));
      }),
    }),
    heat: ({ colours, rows }) => ({
      header: ["", `least ${colours.label}`, "mean", `most ${colours.label}`],
      rows: rows.map(({ name, values }) => {
        const all = known(values);
        const mean = all.reduce((sum, value) => sum + value, 0) / Math.max(1, all.length);
        return [name].concat([Math.min(...all), mean, Math.max(...all)].map((value) => show(colours.unit, value)));
      }),
    }),
    grid: ({ x, y, values }) => ({
      header: [`${y.label} by ${x.label}`].concat(x.names),
      rows: values.map((row, i) => [y.names[i]].concat(row.map((value) => show("share", value)))),
    }),
    lanes: ({ x, lanes }) => ({
      header: ["", "from", "for", "activity"],
      rows: lanes.flatMap((lane) =>
        lane.slices.map(({ from, to, name }) => [lane.name, show(x.unit, from), show(x.unit, to - from), name]),
      ),
    }),
    bars: ({ x, y, bars }) => ({
      header: [x.label, y.label],
      rows: bars.map((bar) => [charts.range(x, bar), show(y.unit, bar[2])]),
    }),
  };
  const table = (figure) => TABLES[figure.chart](figure);

  return { words, places, table };
})();

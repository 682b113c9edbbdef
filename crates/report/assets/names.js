// Charts of values by name: lines where the names are quantities, rows of bars or marks where they are not.
"use strict";

const names = (() => {
  const { show } = numbers;
  const { colour, tip, placing, scaled, placed, listed } = axes;
  const { tools, common, tooltip, grid, tall, stroke, symbol } = options;

  // A band from low to high around a line, in steps if the line has steps.
  function band(of, { name, colour: number, step }, points) {
    const stepped = (edge) =>
      edge.flatMap((at, i) => {
        if (!step || i === 0) return [at];
        return [step === "start" ? [edge[i - 1][0], at[1]] : [at[0], edge[i - 1][1]], at];
      });
    const renderItem = (params, api) => {
      if (params.dataIndex > 0) return undefined;
      const known = points.filter(([, low, high]) => low !== null && high !== null);
      const edge = (at) => stepped(known.map((point) => api.coord([point[0], point[at]])));
      const shape = { points: edge(1).concat(edge(2).reverse()) };
      return { type: "polygon", shape, style: { fill: colour(of, number), opacity: 0.18 }, silent: true };
    };
    return { type: "custom", name, data: points, silent: true, clip: true, encode: { x: 0, y: [1, 2] }, renderItem };
  }

  // The lines of a whisker between two points: a stem with two ends.
  function whisker(from, to, across, style, wing) {
    const line = ([x1, y1], [x2, y2]) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
    const end = ([x, y]) => (across ? line([x, y - wing], [x, y + wing]) : line([x - wing, y], [x + wing, y]));
    return [line(from, to), end(from), end(to)];
  }

  // Whiskers of the series `name`; an item has its place, its ends, and the number of its colour.
  function whiskers(of, name, items, across) {
    const all = items.filter(([, low, high]) => low !== null && high !== null);
    const renderItem = (_, api) => {
      const at = (value) => api.coord(across ? [value, api.value(0)] : [api.value(0), value]);
      const style = { stroke: colour(of, api.value(3)), lineWidth: 1.2, fill: "none" };
      return { type: "group", children: whisker(at(api.value(1)), at(api.value(2)), across, style, 4) };
    };
    const encode = across ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] };
    const series = { type: "custom", name, data: all, encode, silent: true, clip: false, z: 9, renderItem };
    return all.length ? [series] : [];
  }

  // The values that the source states as hollow diamonds, or as brackets around a range. `across` is true if the values go
  // along the horizontal axis.
  function stated(of, marks, drawn, place, across) {
    const items = (marks || []).map((mark) => [place(mark.at), drawn.at(mark.low), drawn.at(mark.high)]);
    const all = items.filter(([, low, high]) => low !== null && high !== null);
    const renderItem = (_, api) => {
      const at = (value) => api.coord(across ? [value, api.value(0)] : [api.value(0), value]);
      const [from, to] = [at(api.value(1)), at(api.value(2))];
      const style = { stroke: of.ink, lineWidth: 1.5, fill: "none" };
      if (api.value(1) !== api.value(2)) return { type: "group", children: whisker(from, to, across, style, 6) };
      const [x, y] = from;
      return { type: "polygon", shape: { points: [[x - 6, y], [x, y - 6], [x + 6, y], [x, y + 6]] }, style, z2: 9 };
    };
    const encode = across ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] };
    const series = { type: "custom", name: "stated values", data: all, encode, silent: true, clip: false, z: 9, renderItem };
    return all.length ? [series] : [];
  }

  // Where the vertical axis of a figure draws numbers, and all that it has to cover.
  const measured = ({ lines, marks }) =>
    lines.flatMap((line) => line.values).concat((marks || []).flatMap((mark) => [mark.low, mark.high]));
  const covered = (figure, drawn) =>
    measured(figure)
      .map(drawn.at)
      .concat(figure.lines.flatMap((line) => (line.spread || []).flatMap((range) => (range || []).map(drawn.end))));

  // The rows of a tooltip at the name with this number.
  const rowsAt = ({ y, lines, marks }, of, at) =>
    lines
      .map((line) => [colour(of, line.colour), line.name, valueOf(y, line, at)])
      .concat((marks || []).filter((mark) => mark.at === at).map((mark) => ["", mark.name, mark.says]));

  // A value with its spread.
  function valueOf(y, line, at) {
    const range = (line.spread || [])[at];
    const text = show(y.unit, line.values[at]);
    return range ? text + " (" + show(y.unit, range[0]) + " to " + show(y.unit, range[1]) + ")" : text;
  }

  // Quantities at their numbers: a line for each series.
  function along(figure, of) {
    const { x, y, lines, marks } = figure;
    const drawn = placing(y, measured(figure));
    const below = placed(of, x);
    const upright = scaled(of, y, covered(figure, drawn), 50, drawn.foot);
    // At the left edge, also where a quantity of zero, or of one on a logarithmic axis, stands further to the right.
    upright.axisLine = Object.assign({}, upright.axisLine, { onZero: false });
    return common(of, {
      height: tall(of) + Math.max(0, below.below - 46),
      grid: grid(of, { bottom: below.below }),
      toolbox: tools(of),
      tooltip: tooltip(of, {
        trigger: "axis",
        formatter: (rows) => {
          const at = below.nearest(rows[0].axisValue);
          return tip(x.label + " " + x.names[at], rowsAt(figure, of, at));
        },
      }),
      xAxis: below.axis,
      yAxis: upright,
      series: lines
        .map((line) =>
          Object.assign(
            {
              type: "line",
              name: line.name,
              data: line.values.map((value, i) => [below.at(i), drawn.at(value)]),
              symbolSize: 7,
              symbol: symbol(line.colour),
              emphasis: { disabled: true },
            },
            stroke(of, line.colour),
          ),
        )
        .concat(lines.flatMap((line) => whiskers(of, line.name, ends(line, drawn, below.at), false)))
        .concat(stated(of, marks, drawn, below.at, false)),
    });
  }

  // The whiskers of a line.
  const ends = (line, drawn, place) =>
    (line.spread || []).flatMap((range, i) =>
      range ? [[place(i), drawn.end(range[0]), drawn.end(range[1]), line.colour]] : [],
    );

  // Bars are drawn where they are few and have a zero to begin at.
  const isBars = ({ x, y, lines, marks }) => !x.places && y.scale === "linear" && lines.length <= 3 && !(marks || []).length;

  // Names without an order: a row for each, with a bar for each series, or a mark where bars are not drawn.
  function apart(figure, of) {
    const { x, y, lines, marks } = figure;
    const bars = isBars(figure);
    const drawn = placing(y, measured(figure));
    const list = listed(of, x.names, {
      tall: bars ? 12 * lines.length + 12 : 24,
      extra: { splitLine: { show: !bars, lineStyle: { color: of.line } } },
    });
    const points = (line) =>
      Object.assign({ name: line.name, emphasis: { disabled: true } }, stroke(of, line.colour), {
        type: "line",
        data: line.values.map((value, i) => [drawn.at(value), i]),
        symbolSize: 9,
        symbol: symbol(line.colour),
        showSymbol: true,
        lineStyle: { width: 0, opacity: 0 },
      });
    const marked = () =>
      lines
        .map(points)
        .concat(lines.flatMap((line) => whiskers(of, line.name, ends(line, drawn, (i) => i), true)))
        .concat(stated(of, marks, drawn, (i) => i, true));
    return common(of, {
      height: list.tall * x.names.length + 76,
      grid: grid(of, { left: list.left, right: bars ? 58 : 24, bottom: 46 }),
      toolbox: tools(of),
      tooltip: tooltip(of, {
        trigger: "axis",
        axisPointer: { type: "shadow", axis: "y", shadowStyle: { color: of.line, opacity: 0.4 } },
        formatter: (rows) => tip(x.label + " " + x.names[rows[0].dataIndex], rowsAt(figure, of, rows[0].dataIndex)),
      }),
      xAxis: scaled(of, y, covered(figure, drawn), 26, drawn.foot),
      yAxis: list.axis,
      series: bars ? lines.map((line, i) => bar(of, y, line, i, lines.length)) : marked(),
    });
  }

  // The bars of one of `count` series beside each other in each row, with their whiskers, and behind the whisker the value.
  function bar(of, y, line, number, count) {
    const data = line.values.map((value, i) => [value, i].concat((line.spread || [])[i] || [null, null]));
    const renderItem = (_, api) => {
      const [value, row, low, high] = [0, 1, 2, 3].map((at) => api.value(at));
      if (Number.isNaN(value)) return undefined;
      const thick = Math.min(16, (api.size([0, 1])[1] * 0.8) / count);
      const place = (number) => api.coord([number, row])[0];
      const middle = api.coord([0, row])[1] + (number - (count - 1) / 2) * thick;
      const [from, to] = [place(0), place(value)];
      const children = [
        {
          type: "rect",
          shape: { x: Math.min(from, to), y: middle - thick / 2 + 0.5, width: Math.abs(to - from), height: thick - 1 },
          style: { fill: colour(of, line.colour) },
        },
      ];
      let end = Math.max(from, to);
      if (!Number.isNaN(low) && !Number.isNaN(high)) {
        // In ink, because the stem lies upon its bar.
        const style = { stroke: of.ink, lineWidth: 1.2, fill: "none" };
        children.push(...whisker([place(low), middle], [place(high), middle], true, style, Math.min(4, thick / 2 - 1)));
        end = Math.max(end, place(high));
      }
      const style = { text: show(y.unit, value), x: end + 5, y: middle, fill: of.ink, fontSize: 10, verticalAlign: "middle" };
      children.push({ type: "text", style });
      return { type: "group", children };
    };
    const item = { type: "custom", name: line.name, data, encode: { x: [0, 2, 3], y: 1 }, clip: false, renderItem };
    return Object.assign(item, { itemStyle: { color: colour(of, line.colour) } });
  }

  const courses = (figure, of) => (figure.x.places ? along(figure, of) : apart(figure, of));

  return { courses, isBars, band, whiskers };
})();

// Translates each figure of the page's JSON (see figure.rs) into options of Apache ECharts.
"use strict";

const charts = (() => {
  const { show, tick, nines, share, percentile } = numbers;
  const { PALETTE, NARROW, look, colour, shade, inkOn, tip, scaled, category, named, listed } = axes;

  // --- options of all charts ---

  // The slider, the box tool, and the wheel with Ctrl zoom: the wheel alone must still scroll the page.
  function zoom(of, axes) {
    if (of.printing) return [];
    const inside = {
      type: "inside",
      zoomOnMouseWheel: "ctrl",
      moveOnMouseMove: false,
      moveOnMouseWheel: false,
      preventDefaultMouseMove: false,
      filterMode: "none",
    };
    const slider = {
      type: "slider",
      bottom: 4,
      height: 14,
      filterMode: "none",
      brushSelect: false,
      showDetail: false,
      showDataShadow: false,
      borderColor: of.line,
      fillerColor: of.line,
      backgroundColor: "transparent",
      moveHandleSize: 0,
      handleStyle: { color: of.card, borderColor: of.soft },
    };
    return [Object.assign({}, inside, axes), Object.assign({}, slider, axes)];
  }

  function tools(of, axes) {
    if (of.printing) return { show: false };
    const style = { borderColor: of.soft };
    const box = {
      title: { zoom: "zoom into a box", back: "zoom back" },
      filterMode: "none",
      brushStyle: { color: of.line, opacity: 0.5 },
    };
    // Above the edge, because ECharts keeps room for the titles of the icons there.
    return {
      right: 0,
      top: -10,
      itemSize: 13,
      iconStyle: style,
      emphasis: { iconStyle: { borderColor: of.ink, textFill: of.ink } },
      feature: Object.assign(
        axes && of.width >= NARROW ? { dataZoom: Object.assign(box, axes) } : {},
        axes ? { restore: { title: "show all" } } : {},
        { saveAsImage: { title: "save as SVG", type: "svg", backgroundColor: of.card, name: "flashloom" } },
      ),
    };
  }

  // The description for screen readers is made of the figure (describe.js): that of ECharts reads out positions on the
  // axis, which on a scale by nines are logarithms.
  function common(of, more) {
    return Object.assign(
      {
        animation: false,
        aria: { enabled: more.hatches === true, label: { enabled: false } },
        backgroundColor: "transparent",
        textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: of.ink },
      },
      more,
    );
  }

  const tooltip = (of, more) =>
    Object.assign(
      {
        confine: true,
        backgroundColor: of.card,
        borderColor: of.line,
        textStyle: { color: of.ink, fontSize: 12 },
        axisPointer: { type: "line", lineStyle: { color: of.soft } },
      },
      more,
    );

  const grid = (of, more) =>
    Object.assign({ left: 66, right: 18, top: of.printing ? 10 : 26, bottom: of.printing ? 46 : 68 }, more);
  const tall = (of) => (of.printing ? 200 : 280);

  // Series beyond the palette are hatched or dashed.
  const hatched = (of) => ({ color: of.card, dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4 });
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];
  const symbol = (number) => SYMBOLS[number % SYMBOLS.length];

  const stroke = (of, number) => ({
    itemStyle: { color: colour(of, number) },
    lineStyle: { color: colour(of, number), width: 2, type: number < PALETTE ? "solid" : "dashed" },
  });

  // Rows of rectangles along an axis. A cell has its start, its end, its row, and a value that `fill` turns into a
  // colour. `inset` is the free space above and below it, and `wide` gives its drawn width.
  function rows(of, { name, axis, names, tall, cells, inset, wide, fill, formatter }) {
    const renderItem = (_, api) => {
      const [left, middle] = api.coord([api.value(0), api.value(2)]);
      const [right] = api.coord([api.value(1), api.value(2)]);
      const height = api.size([0, 1])[1];
      return {
        type: "rect",
        shape: { x: left, y: middle - height / 2 + inset, width: wide(right - left), height: height - 2 * inset },
        style: { fill: fill(api.value(3)) },
      };
    };
    return common(of, {
      height: Math.round(tall * names.length) + (of.printing ? 56 : 88),
      grid: grid(of, { left: 84 }),
      toolbox: tools(of, { yAxisIndex: "none" }),
      dataZoom: zoom(of, { xAxisIndex: 0 }),
      tooltip: tooltip(of, { formatter }),
      xAxis: axis,
      yAxis: category(of, { label: "", names }, 0, {
        inverse: true,
        axisTick: { show: false },
        axisLabel: { color: of.soft, fontSize: 11, interval: tall >= 11 ? 0 : "auto" },
      }),
      series: [{ type: "custom", name, data: cells, encode: { x: [0, 1], y: 2 }, clip: true, renderItem }],
    });
  }

  // --- the kinds of charts: each gives its options and its height ---

  const CHARTS = {
    lines({ x, y, lines }, of) {
      const place = x.scale === "nines" ? nines : (value) => value;
      const drawn = (value) => (y.scale === "log" && value <= 0 ? null : value);
      const all = lines.map((line) => line.points.map(([x, y]) => [place(x), y === null ? null : drawn(y)]));
      const flat = all.flat();
      const over = (value) => (x.scale === "nines" ? percentile(share(value)) + " of requests" : show(x.unit, value));
      const few = flat.length < 3 * lines.length;
      // The value of each line at a place: that of its next point. Lines need not have points in common.
      const at = (value) =>
        lines
          .map((line, i) => [line, all[i].find(([x]) => x >= value - 1e-12)])
          .filter(([, point]) => point)
          .map(([line, point]) => [colour(of, line.colour), line.name, show(y.unit, point[1])]);
      const ranges = lines.flatMap((line) => line.spread || []).flatMap(([, low, high]) => [low, high]);
      return common(of, {
        timed: x.scale !== "nines",
        height: tall(of),
        grid: grid(of),
        toolbox: tools(of, { yAxisIndex: "none" }),
        dataZoom: zoom(of, { xAxisIndex: 0 }),
        tooltip: tooltip(of, {
          trigger: "axis",
          formatter: (rows) => tip(over(rows[0].axisValue), at(rows[0].axisValue)),
        }),
        xAxis: scaled(of, x, flat.map(([x]) => x), 26),
        yAxis: scaled(of, y, flat.map(([, y]) => y).concat(ranges.map(drawn)), 50),
        series: lines.flatMap((line, i) => {
          const course = Object.assign(
            {
              type: "line",
              name: line.name,
              data: all[i],
              showSymbol: few,
              symbolSize: 6,
              connectNulls: false,
              emphasis: { disabled: true },
            },
            stroke(of, line.colour),
          );
          const spread = (line.spread || []).map(([x, low, high]) => [place(x), drawn(low), drawn(high)]);
          return spread.length ? [course, band(of, line, spread)] : [course];
        }),
      });
    },

    courses(figure, of) {
      return figure.x.ordered ? along(figure, of) : apart(figure, of);
    },

    stacks({ x, rows }, of) {
      const parts = new Map();
      rows.forEach((row) => row.parts.forEach((part) => parts.set(part.name, part.colour)));
      const names = [...parts].sort((a, b) => a[1] - b[1]);
      const value = (row, name) => (row.parts.find((part) => part.name === name) || { value: 0 }).value;
      const sums = rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0));
      const behind = (i) => rows[i].label || show(x.unit, sums[i]);
      const list = listed(of, rows.map((row) => row.name), { tall: 34 });
      const series = names.map(([name, number]) => ({
        type: "bar",
        name,
        stack: "all",
        barMaxWidth: 24,
        data: rows.map((row) => value(row, name)),
        itemStyle: Object.assign(
          { color: colour(of, number), borderColor: of.card, borderWidth: 0.5 },
          number < PALETTE ? {} : { decal: hatched(of) },
        ),
        emphasis: { disabled: true },
      }));
      // The label with the sum belongs to a last part of length zero, behind the bar. Rounded shares may add up to a
      // little more than 1, where the axis ends.
      series.push({
        clip: false,
        type: "bar",
        name: "sum",
        stack: "all",
        data: rows.map(() => 0),
        silent: true,
        label: { show: true, position: "right", color: of.ink, formatter: ({ dataIndex }) => behind(dataIndex) },
      });
      return common(of, {
        hatches: true,
        height: 76 + list.tall * rows.length,
        grid: grid(of, { left: list.left, right: 64, bottom: 46 }),
        toolbox: tools(of),
        tooltip: tooltip(of, {
          trigger: "axis",
          axisPointer: { type: "shadow", shadowStyle: { color: of.line, opacity: 0.4 } },
          formatter: ([{ dataIndex }]) => {
            const part = ({ colour: number, name, value }) => [colour(of, number), name, show(x.unit, value)];
            return tip(rows[dataIndex].name, rows[dataIndex].parts.map(part).concat([["", "all", behind(dataIndex)]]));
          },
        }),
        xAxis: scaled(of, x, sums, 26),
        yAxis: list.axis,
        series,
      });
    },

    lanes({ x, lanes }, of) {
      const cells = lanes.flatMap((lane, i) => lane.slices.map((slice) => [slice.from, slice.to, i, slice.colour]));
      const what = lanes.flatMap((lane) => lane.slices.map((slice) => slice.name));
      const edges = cells.flatMap(([from, to]) => [from, to]);
      const axis = Object.assign(scaled(of, x, edges, 26), { splitLine: { show: false }, interval: undefined });
      return rows(of, {
        name: "what it did",
        axis: Object.assign(axis, { min: Math.min(...edges), max: Math.max(...edges) }),
        names: lanes.map((lane) => lane.name),
        tall: Math.min(20, Math.max(9, 420 / lanes.length)),
        cells,
        inset: 1,
        // Wide enough to be visible.
        wide: (width) => Math.max(width, 0.6),
        fill: (number) => colour(of, number),
        formatter: ({ dataIndex, value: [from, to, row, number] }) =>
          tip(lanes[row].name, [
            [colour(of, number), what[dataIndex], show(x.unit, to - from)],
            ["", "from", show(x.unit, from)],
          ]),
      });
    },

    heat({ x, edges, rows: all }, of) {
      const options = rows(of, {
        name: "busy",
        axis: Object.assign(scaled(of, x, edges, 26), { splitLine: { show: false } }),
        names: all.map((row) => row.name),
        tall: Math.min(22, Math.max(7, 300 / all.length)),
        cells: all.flatMap((row, i) => row.shares.map((share, j) => [edges[j], edges[j + 1], i, share])),
        inset: 0.5,
        // Slightly wider, so that neighbours leave no gap.
        wide: (width) => width + 0.4,
        fill: (share) => shade(of, share),
        formatter: ({ value: [from, to, row, share] }) =>
          tip(all[row].name, [["", show(x.unit, from) + " to " + show(x.unit, to), show("share", share) + " busy"]]),
      });
      return Object.assign(options, { timed: true });
    },

    // The colours go from nothing to the whole, as those of a heat map: 37 % is never painted as all.
    grid({ x, y, values }, of) {
      const style = (share) => ({ itemStyle: { color: shade(of, share) }, label: { color: inkOn(of, share) } });
      const cell = (i, share, j) => Object.assign({ value: [j, i, share] }, style(share));
      const below = named(of, x, { position: "bottom", axisTick: { show: false } });
      const labelled = (of.width - 84) / x.names.length > 42;
      return common(of, {
        height: Math.min(420, Math.max(34 * y.names.length, 60)) + 26 + below.below,
        grid: grid(of, { bottom: below.below }),
        toolbox: tools(of),
        tooltip: tooltip(of, {
          formatter: ({ value: [j, i, share] }) =>
            tip(y.label + " " + y.names[i] + ", " + x.label + " " + x.names[j], [["", "busy", show("share", share)]]),
        }),
        xAxis: below.axis,
        yAxis: category(of, y, 34, { inverse: true, axisTick: { show: false } }),
        series: [
          {
            type: "heatmap",
            data: values.flatMap((row, i) => row.map((share, j) => cell(i, share, j))),
            itemStyle: { borderColor: of.card, borderWidth: 1 },
            emphasis: { itemStyle: { borderColor: of.ink } },
            label: { show: labelled, fontSize: 11, formatter: ({ value }) => show("share", value[2]) },
          },
        ],
      });
    },

    bars({ x, y, bars }, of) {
      const below = named(of, { label: x.label, names: bars.map((bar) => range(x, bar)), ordered: true });
      return common(of, {
        height: tall(of),
        grid: grid(of, { bottom: below.below }),
        toolbox: tools(of),
        tooltip: tooltip(of, {
          trigger: "axis",
          axisPointer: { type: "shadow", shadowStyle: { color: of.line, opacity: 0.4 } },
          formatter: ([{ dataIndex }]) =>
            tip(x.label + ": " + range(x, bars[dataIndex]), [["", y.label, show(y.unit, bars[dataIndex][2])]]),
        }),
        xAxis: below.axis,
        yAxis: scaled(of, y, bars.map((bar) => bar[2]), 50),
        series: [
          {
            type: "bar",
            data: bars.map((bar) => bar[2]),
            barCategoryGap: "8%",
            itemStyle: { color: colour(of, 0) },
            emphasis: { disabled: true },
          },
        ],
      });
    },
  };

  // The name of a bar: the numbers of its range.
  const range = (x, [from, to]) =>
    to - from > 1 ? tick(x.unit, from) + "-" + tick(x.unit, to - 1) : tick(x.unit, from);

  // --- charts over names ---

  // A band from low to high around a line.
  function band(of, { name, colour: number }, points) {
    const renderItem = (params, api) => {
      if (params.dataIndex > 0) return undefined;
      const known = points.filter(([, low, high]) => low !== null && high !== null);
      const edge = (at) => known.map((point) => api.coord([point[0], point[at]]));
      const shape = { points: edge(1).concat(edge(2).reverse()) };
      return { type: "polygon", shape, style: { fill: colour(of, number), opacity: 0.18 }, silent: true };
    };
    return { type: "custom", name, data: points, silent: true, clip: true, encode: { x: 0, y: [1, 2] }, renderItem };
  }

  // The spread of each value as a bar with two ends, and the values that the source states as hollow diamonds, or as
  // brackets around a range. `across` is true if the values go along the horizontal axis.
  function beside(of, { lines, marks, y }, across) {
    const drawn = (value) => (y.scale === "log" && value <= 0 ? null : value);
    const item = (place, low, high, number, kind) => [place, drawn(low), drawn(high), number, kind];
    const spreads = lines.flatMap((line) =>
      (line.spread || []).map((range, i) => (range ? item(i, range[0], range[1], line.colour, 0) : null)),
    );
    const stated = (marks || []).map((mark) => item(mark.at, mark.low, mark.high, mark.colour, 1));
    const all = spreads.concat(stated).filter((one) => one && one[1] !== null && one[2] !== null);
    if (!all.length) return [];
    const renderItem = (_, api) => {
      const at = (value) => api.coord(across ? [value, api.value(0)] : [api.value(0), value]);
      const [from, to] = [at(api.value(1)), at(api.value(2))];
      const stated = api.value(4) === 1;
      const style = { stroke: stated ? of.ink : colour(of, api.value(3)), lineWidth: stated ? 1.5 : 1.2, fill: "none" };
      const wing = stated ? 6 : 4;
      const line = ([x1, y1], [x2, y2]) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
      const end = ([x, y]) => (across ? line([x, y - wing], [x, y + wing]) : line([x - wing, y], [x + wing, y]));
      if (stated && api.value(1) === api.value(2)) {
        const [x, y] = from;
        const points = [[x - wing, y], [x, y - wing], [x + wing, y], [x, y + wing]];
        return { type: "polygon", shape: { points }, style, z2: 9 };
      }
      return { type: "group", children: [line(from, to), end(from), end(to)] };
    };
    const encode = across ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] };
    return [{ type: "custom", name: "spread and stated values", data: all, encode, silent: true, clip: false, z: 9, renderItem }];
  }

  // All the values that an axis has to cover.
  const covered = ({ lines, marks }) =>
    lines
      .flatMap((line) => line.values.concat((line.spread || []).flatMap((range) => range || [])))
      .concat((marks || []).flatMap((mark) => [mark.low, mark.high]));

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

  // Quantities in order: a line for each series.
  function along(figure, of) {
    const { x, y, lines } = figure;
    const drawn = (value) => (y.scale === "log" && value !== null && value <= 0 ? null : value);
    const below = named(of, x, { boundaryGap: x.names.length < 3 || lines.some((line) => line.spread) });
    return common(of, {
      height: tall(of) + Math.max(0, below.below - 46),
      grid: grid(of, { bottom: below.below }),
      toolbox: tools(of),
      tooltip: tooltip(of, {
        trigger: "axis",
        formatter: (rows) => tip(x.label + " " + rows[0].axisValue, rowsAt(figure, of, rows[0].dataIndex)),
      }),
      xAxis: below.axis,
      yAxis: scaled(of, y, covered(figure).map(drawn), 50),
      series: lines
        .map((line) =>
          Object.assign(
            {
              type: "line",
              name: line.name,
              data: line.values.map(drawn),
              symbolSize: 7,
              symbol: symbol(line.colour),
              emphasis: { disabled: true },
            },
            stroke(of, line.colour),
          ),
        )
        .concat(beside(of, figure, false)),
    });
  }

  // Names without an order: a row for each, with a bar for each series, or a mark where bars would be too many or would
  // have no zero to begin at.
  function apart(figure, of) {
    const { x, y, lines } = figure;
    const bars = y.scale === "linear" && lines.length <= 3 && !(figure.marks || []).length;
    const drawn = (value) => (y.scale === "log" && value !== null && value <= 0 ? null : value);
    const list = listed(of, x.names, {
      tall: bars ? 12 * lines.length + 12 : 24,
      extra: { splitLine: { show: !bars, lineStyle: { color: of.line } } },
    });
    const style = (line) =>
      bars
        ? {
            type: "bar",
            barMaxWidth: 16,
            data: line.values.map(drawn),
            label: { show: true, position: "right", color: of.ink, fontSize: 10, formatter: ({ value }) => show(y.unit, value) },
          }
        : {
            type: "line",
            data: line.values.map((value, i) => [drawn(value), i]),
            symbolSize: 9,
            symbol: symbol(line.colour),
            showSymbol: true,
          };
    const unjoined = bars ? {} : { lineStyle: { width: 0, opacity: 0 } };
    return common(of, {
      height: list.tall * x.names.length + 76,
      grid: grid(of, { left: list.left, right: bars ? 52 : 24, bottom: 46 }),
      toolbox: tools(of),
      tooltip: tooltip(of, {
        trigger: "axis",
        axisPointer: { type: "shadow", axis: "y", shadowStyle: { color: of.line, opacity: 0.4 } },
        formatter: (rows) => tip(x.label + " " + x.names[rows[0].dataIndex], rowsAt(figure, of, rows[0].dataIndex)),
      }),
      xAxis: scaled(of, y, covered(figure).map(drawn), 26),
      yAxis: list.axis,
      series: lines
        .map((line) =>
          Object.assign({ name: line.name, emphasis: { disabled: true } }, stroke(of, line.colour), style(line), unjoined),
        )
        .concat(beside(of, figure, true)),
    });
  }

  // The options of a figure of this width without the series in `hidden`. `height` and `timed` (over simulated time) are
  // for report.js, not ECharts.
  function options(figure, width, printing, hidden) {
    const all = CHARTS[figure.chart](figure, look(width, printing));
    const shown = all.series.filter((series) => !hidden.has(series.name));
    return Object.assign(all, { series: shown });
  }

  return { options, range, PALETTE, SYMBOLS };
})();

// Translates each figure of the page's JSON (see figure.rs) into options of Apache ECharts.
"use strict";

const charts = (() => {
  const { show, tick, share, percentile } = numbers;
  const { PALETTE, look, colour, shade, inkOn, tip, placing, scaled, category, named, listed, widest } = axes;
  const { zoom, tools, common, plot, tooltip, grid, tall, hatched, stroke, symbol, SYMBOLS } = options;
  const { courses, band, whiskers } = names;

  // Rows of rectangles along an axis. A cell has its start, its end, its row, and a value that `fill` turns into a
  // colour. `inset` is the free space above and below it, and `wide` gives its drawn width.
  function rows(of, { name, axis, names, tall, cells, inset, wide, fill, formatter }) {
    const renderItem = (_, api) => {
      if (Number.isNaN(api.value(3))) return undefined;
      const [left, middle] = api.coord([api.value(0), api.value(2)]);
      const [right] = api.coord([api.value(1), api.value(2)]);
      const height = api.size([0, 1])[1];
      return {
        type: "rect",
        shape: { x: left, y: middle - height / 2 + inset, width: wide(right - left), height: height - 2 * inset },
        style: { fill: fill(api.value(3)) },
      };
    };
    return plot(of, {
      height: Math.round(tall * names.length) + (of.printing ? 56 : 88),
      grid: grid(of, { left: Math.max(84, widest(names) + 12) }),
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
      const across = placing(x, lines.flatMap((line) => line.points.map(([at]) => at)));
      const up = placing(y, lines.flatMap((line) => line.points.map(([, value]) => value)));
      const all = lines.map((line) => line.points.map(([at, value]) => [across.at(at), up.at(value)]));
      const flat = all.flat();
      const over = (value) =>
        x.scale === "nines" ? percentile(share(value)) + " of requests" : show(x.unit, value === across.foot ? 0 : value);
      const few = flat.length < 3 * lines.length;
      // The value of each line at a place. Lines need not have points in common: it is that of the next point, or of the
      // one before where the line keeps its value up to the next.
      const at = (value) =>
        lines.flatMap((line, i) => {
          const next = all[i].findIndex(([place]) => place > value + 1e-12);
          const first = all[i].findIndex(([place]) => place >= value - 1e-12);
          const found = line.step === "end" ? (next < 0 ? all[i].length : next) - 1 : first;
          return found < 0 ? [] : [[colour(of, line.colour), line.name, show(y.unit, line.points[found][1])]];
        });
      const ends = lines.flatMap((line) => line.spread || []).flatMap(([, low, high]) => [up.end(low), up.end(high)]);
      return plot(of, {
        timed: isTime(x),
        tooltip: tooltip(of, {
          trigger: "axis",
          formatter: (rows) => tip(over(rows[0].axisValue), at(rows[0].axisValue)),
        }),
        xAxis: scaled(of, x, flat.map(([place]) => place), 26, across.foot),
        yAxis: scaled(of, y, flat.map(([, value]) => value).concat(ends), 50, up.foot),
        series: lines.flatMap((line, i) => {
          const course = Object.assign(
            {
              type: "line",
              name: line.name,
              data: all[i],
              step: line.step || false,
              showSymbol: few,
              symbolSize: 6,
              connectNulls: false,
              emphasis: { disabled: true },
            },
            stroke(of, line.colour),
          );
          const spread = (line.spread || []).map(([place, low, high]) => [across.at(place), up.end(low), up.end(high)]);
          return spread.length ? [course, band(of, line, spread)] : [course];
        }),
      });
    },

    courses,

    paths({ x, y, lines }, of) {
      const stops = lines.flatMap((line) => line.points);
      const across = placing(x, stops.map((stop) => stop.at[0]));
      const up = placing(y, stops.map((stop) => stop.at[1]));
      const ends = stops.flatMap((stop) => (stop.spread || []).map(up.end));
      const whisker = (line) => (stop) =>
        stop.spread ? [[across.at(stop.at[0]), up.end(stop.spread[0]), up.end(stop.spread[1]), line.colour]] : [];
      return plot(of, {
        tooltip: tooltip(of, {
          trigger: "item",
          formatter: ({ seriesName, dataIndex }) => {
            const line = lines.find((one) => one.name === seriesName);
            const { name, at } = line.points[dataIndex];
            return tip(line.name, [[colour(of, line.colour), name, show(y.unit, at[1])], ["", x.label, show(x.unit, at[0])]]);
          },
        }),
        xAxis: scaled(of, x, stops.map((stop) => across.at(stop.at[0])), 26, across.foot),
        yAxis: scaled(of, y, stops.map((stop) => up.at(stop.at[1])).concat(ends), 50, up.foot),
        series: lines
          .map((line) =>
            Object.assign(
              {
                type: "line",
                name: line.name,
                data: line.points.map(({ at }) => [across.at(at[0]), up.at(at[1])]),
                symbol: symbol(line.colour),
                symbolSize: 7,
                emphasis: { disabled: true },
              },
              stroke(of, line.colour),
            ),
          )
          .concat(lines.flatMap((line) => whiskers(of, line.name, line.points.flatMap(whisker(line)), false))),
      });
    },

    // Each layer is an area from zero up to the sum of the layers up to it, painted from the top, so that the lower ones
    // cover the rest of it.
    areas({ x, y, edges, layers }, of, hidden) {
      const shown = layers.filter((layer) => !hidden.has(layer.name));
      const sums = shown.map(() => []);
      edges.slice(1).forEach((_, i) => {
        let sum = 0;
        shown.forEach((layer, k) => sums[k].push((sum += layer.values[i] || 0)));
      });
      const whole = (i) => (sums.length ? sums[sums.length - 1][i] : 0);
      const within = (place) => Math.max(0, Math.min(edges.length - 2, edges.filter((edge) => edge <= place).length - 1));
      const series = shown.map((layer, k) => ({
        type: "line",
        name: layer.name,
        data: edges.map((edge, i) => [edge, sums[k][Math.min(i, sums[k].length - 1)]]),
        step: "end",
        showSymbol: false,
        lineStyle: { width: 0 },
        itemStyle: Object.assign({ color: colour(of, layer.colour) }, layer.colour < PALETTE ? {} : { decal: hatched(of) }),
        areaStyle: { color: colour(of, layer.colour), opacity: 1, origin: "start" },
        emphasis: { disabled: true },
        z: 2 + layers.length - k,
      }));
      const most = edges.slice(1).map((_, i) => layers.reduce((sum, layer) => sum + (layer.values[i] || 0), 0));
      return plot(of, {
        timed: isTime(x),
        hatches: layers.some((layer) => layer.colour >= PALETTE),
        tooltip: tooltip(of, {
          trigger: "axis",
          formatter: ([{ axisValue }]) => {
            const i = within(axisValue);
            const row = (layer) => [colour(of, layer.colour), layer.name, show(y.unit, layer.values[i])];
            const heading = show(x.unit, edges[i]) + " to " + show(x.unit, edges[i + 1]);
            return tip(heading, shown.map(row).reverse().concat([["", "all", show(y.unit, whole(i))]]));
          },
        }),
        xAxis: scaled(of, x, edges, 26),
        yAxis: scaled(of, y, most, 50),
        series: series.reverse(),
      });
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

    heat({ x, edges, colours, rows: all }, of) {
      const [least, most] = colours.cover;
      const part = (value) => (most > least ? (value - least) / (most - least) : 0.5);
      const options = rows(of, {
        name: colours.label,
        axis: Object.assign(scaled(of, x, edges, 26), { splitLine: { show: false } }),
        names: all.map((row) => row.name),
        tall: Math.min(22, Math.max(7, 300 / all.length)),
        cells: all.flatMap((row, i) => row.values.map((value, j) => [edges[j], edges[j + 1], i, value])),
        inset: 0.5,
        // Slightly wider, so that neighbours leave no gap.
        wide: (width) => width + 0.4,
        fill: (value) => shade(of, part(value)),
        formatter: ({ value: [from, to, row, value] }) =>
          tip(all[row].name, [["", between(x, from, to), show(colours.unit, value) + " " + colours.label]]),
      });
      return Object.assign(options, { timed: isTime(x) });
    },

    // The colours go from nothing to the whole, as those of a heat map: 37 % is never painted as all.
    grid({ x, y, values }, of) {
      const style = (share) => ({ itemStyle: { color: shade(of, share) }, label: { color: inkOn(of, share) } });
      const cell = (i, share, j) => Object.assign({ value: [j, i, share] }, style(share));
      const below = named(of, Object.assign({ ordered: true }, x), { position: "bottom", axisTick: { show: false } });
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

  // True for an axis of simulated time: all of them zoom together. A latency is a time, too, but its axis does not end with the run.
  const isTime = (x) => x.unit === "time" && x.to !== undefined;

  // A range of an axis: of time, or of things that are numbered.
  const between = (x, from, to) => (x.unit === "time" ? show(x.unit, from) + " to " + show(x.unit, to) : range(x, [from, to]));

  // The name of a bar: the numbers of its range.
  const range = (x, [from, to]) =>
    to - from > 1 ? tick(x.unit, from) + "-" + tick(x.unit, to - 1) : tick(x.unit, from);

  // The options of a figure of this width without the series in `hidden`. `height` and `timed` (over simulated time) are
  // for report.js, not ECharts.
  function drawn(figure, width, printing, hidden) {
    const all = CHARTS[figure.chart](figure, look(width, printing), hidden);
    const shown = all.series.filter((series) => !hidden.has(series.name));
    return Object.assign(all, { series: shown });
  }

  return { options: drawn, range, between, PALETTE, SYMBOLS };
})();

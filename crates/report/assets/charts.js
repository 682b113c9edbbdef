// Translates each figure of the page's JSON (see figure.rs) into options of Apache ECharts.
"use strict";

const charts = (() => {
  // --- numbers for people ---

  // Three significant digits, without trailing zeros.
  function digits(value) {
    const size = Math.abs(value);
    const text = value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }

  function scaled(value, steps) {
    for (const [size, name] of steps) {
      if (Math.abs(value) >= size * 0.9995) return digits(value / size) + name;
    }
    const [size, name] = steps[steps.length - 1];
    return value === 0 ? "0" : digits(value / size) + name;
  }

  function counted(value) {
    const size = Math.abs(value);
    if (size >= 1e9) return digits(value / 1e9) + "G";
    if (size >= 1e6) return digits(value / 1e6) + "M";
    if (size >= 1e4) return digits(value / 1e3) + "k";
    return size >= 1000 ? String(Math.round(value)) : digits(value);
  }

  const SHOW = {
    time: (us) =>
      scaled(us, [
        [1e6, "s"],
        [1e3, "ms"],
        [1, "us"],
        [1e-3, "ns"],
      ]),
    rate: (bytes) =>
      scaled(bytes, [
        [1e9, "GB/s"],
        [1e6, "MB/s"],
        [1e3, "kB/s"],
        [1, "B/s"],
      ]),
    "per-second": (rate) => counted(rate) + "/s",
    energy: (joules) =>
      scaled(joules, [
        [1, "J"],
        [1e-3, "mJ"],
        [1e-6, "uJ"],
        [1e-9, "nJ"],
      ]),
    share: (share) => digits(share * 100) + "%",
    count: counted,
    plain: digits,
  };
  const show = (unit, value) => (value === null || Number.isNaN(value) ? "-" : SHOW[unit](value));

  // --- colours and tooltips ---

  const PALETTE = 8;
  // Narrower charts have no room for all tools, and no mouse to draw a box with.
  const NARROW = 480;

  // The current colours of the style sheet.
  function look(width, printing) {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue("--" + name).trim();
    const colours = Array.from({ length: PALETTE }, (_, i) => of("c" + i));
    const names = ["ink", "soft", "line", "card", "idle", "busy"];
    return Object.assign(Object.fromEntries(names.map((name) => [name, of(name)])), { colours, width, printing });
  }

  const colour = (of, number) => of.colours[number % of.colours.length];

  // The colour between idle and busy for a share.
  function shade(of, share) {
    const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const [from, to] = [channels(of.idle), channels(of.busy)];
    const part = Math.min(1, Math.max(0, share));
    return "rgb(" + from.map((value, i) => Math.round(value + (to[i] - value) * part)).join(",") + ")";
  }

  const escape = (text) => String(text).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");
  const dot = (colour) =>
    '<span style="display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px;background:' +
    colour +
    '"></span>';

  // A tooltip: a heading, then rows with a colour, a name and a value.
  function tip(heading, rows) {
    const line = ([colour, name, value]) =>
      '<tr><td style="text-align:left">' +
      (colour ? dot(colour) : "") +
      escape(name) +
      '</td><td style="text-align:right;padding-left:14px"><b>' +
      escape(value) +
      "</b></td></tr>";
    return (
      "<b>" + escape(heading) + '</b><table style="font-size:12px;min-width:0">' + rows.map(line).join("") + "</table>"
    );
  }

  // --- axes ---

  // The options of every axis.
  function axis(of, label, extra) {
    return Object.assign(
      {
        name: label,
        nameLocation: "middle",
        nameTextStyle: { color: of.ink },
        axisLabel: { color: of.soft, hideOverlap: true },
        axisLine: { show: true, lineStyle: { color: of.soft } },
        axisTick: { lineStyle: { color: of.soft } },
        splitLine: { lineStyle: { color: of.line } },
        minorSplitLine: { show: false },
      },
      extra,
    );
  }

  const nines = (share) => -Math.log10(Math.max(1 - share, 1e-9));
  const share = (nines) => 1 - Math.pow(10, -nines);
  function percentile(share) {
    const places = share >= 0.9 ? Math.max(1, Math.ceil(nines(share) - 1)) : 1;
    return String(+(share * 100).toFixed(places)) + "%";
  }

  // The tick interval: at most five steps up to the end, each 1, 2 or 5 times a power of ten in the unit shown.
  function step(to) {
    const power = Math.pow(10, Math.floor(Math.log10(to / 5)));
    return [1, 2, 5, 10].map((n) => n * power).find((size) => size * 5 >= to * 0.999);
  }

  // An axis of numbers; `values` are all the values on it.
  function numbers(of, { label, unit, scale, to }, values, gap) {
    const known = values.filter((value) => value !== null && (scale !== "log" || value > 0));
    const most = Math.max(...known, 0);
    const text = (value) => show(unit, value);
    const all = axis(of, label, { nameGap: gap });
    if (scale === "nines") {
      // 90, 99, 99.9 ... percent, and 50, 95, 99.5 ... if there is room.
      const end = most || 2;
      const marks = [0];
      for (let nine = 1, rest = 1; nine <= end + 1; nine += 1, rest /= 10) {
        if (of.width / end > 150) marks.push(1 - rest / 2);
        marks.push(1 - rest / 10);
      }
      const customValues = marks.map(nines);
      Object.assign(all.axisLabel, { formatter: (value) => percentile(share(value)), customValues });
      Object.assign(all.axisTick, { customValues });
      return Object.assign(all, { type: "value", min: 0, max: end, splitLine: { show: false } });
    }
    all.axisLabel.formatter = text;
    if (scale === "log") {
      const [from, end] = known.length ? [Math.min(...known), most] : [1, 10];
      return Object.assign(all, {
        type: "log",
        min: Math.pow(10, Math.floor(Math.log10(from))),
        max: Math.pow(10, Math.ceil(Math.log10(end * 1.001))),
      });
    }
    // A time axis ends with the run, and its marks follow the zoom; other axes end at a round number.
    if (to) {
      all.axisLabel.showMaxLabel = false;
      return Object.assign(all, { type: "value", min: 0, max: to });
    }
    const size = step(most || 1);
    return Object.assign(all, { type: "value", min: 0, max: Math.ceil((most || 1) / size) * size, interval: size });
  }

  const category = (of, { label, names }, gap, extra) =>
    axis(of, label, Object.assign({ type: "category", data: names, nameGap: gap, splitLine: { show: false } }, extra));

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

  function common(of, more) {
    return Object.assign(
      {
        animation: false,
        aria: { enabled: true },
        backgroundColor: "transparent",
        textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: of.ink },
      },
      more,
    );
  }

  const legend = (of, names) => ({
    type: "scroll",
    show: names.length > 1,
    left: 0,
    top: 0,
    width: of.width - (of.printing ? 0 : of.width < NARROW ? 75 : 130),
    itemWidth: 14,
    itemHeight: 10,
    data: names,
    textStyle: { color: of.ink },
    pageTextStyle: { color: of.soft },
    pageIconColor: of.ink,
    pageIconInactiveColor: of.line,
  });

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

  const grid = (of, more) => Object.assign({ left: 62, right: 18, top: 32, bottom: of.printing ? 46 : 68 }, more);

  // Series beyond the palette are hatched.
  const hatched = (of) => ({ color: of.card, dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4 });

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
      height: Math.round(tall * names.length) + (of.printing ? 66 : 88),
      grid: grid(of, { left: 84, top: 24 }),
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
      return common(of, {
        timed: x.scale !== "nines",
        height: of.printing ? 215 : 290,
        grid: grid(of),
        legend: legend(
          of,
          lines.map((line) => line.name),
        ),
        toolbox: tools(of, { yAxisIndex: "none" }),
        dataZoom: zoom(of, { xAxisIndex: 0 }),
        tooltip: tooltip(of, {
          trigger: "axis",
          formatter: (rows) =>
            tip(
              over(rows[0].axisValue),
              rows.map((row) => [row.color, row.seriesName, show(y.unit, row.value[1])]),
            ),
        }),
        xAxis: numbers(
          of,
          x,
          flat.map(([x]) => x),
          26,
        ),
        yAxis: numbers(
          of,
          y,
          flat.map(([, y]) => y),
          48,
        ),
        series: lines.map((line, i) =>
          Object.assign(
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
          ),
        ),
      });
    },

    courses({ x, y, lines }, of) {
      const drawn = (value) => (y.scale === "log" && value !== null && value <= 0 ? null : value);
      const flat = lines.flatMap((line) => line.values.map(drawn));
      return common(of, {
        height: of.printing ? 215 : 290,
        grid: grid(of),
        legend: legend(
          of,
          lines.map((line) => line.name),
        ),
        toolbox: tools(of, { yAxisIndex: "none" }),
        dataZoom: zoom(of, { xAxisIndex: 0 }),
        tooltip: tooltip(of, {
          trigger: "axis",
          formatter: (rows) =>
            tip(
              x.label + " " + rows[0].axisValue,
              rows.map((row) => [row.color, row.seriesName, show(y.unit, row.value)]),
            ),
        }),
        xAxis: category(of, x, 26, { boundaryGap: false }),
        yAxis: numbers(of, y, flat, 48),
        series: lines.map((line) =>
          Object.assign(
            {
              type: "line",
              name: line.name,
              data: line.values.map(drawn),
              symbolSize: 7,
              symbol: "circle",
              emphasis: { disabled: true },
            },
            stroke(of, line.colour),
          ),
        ),
      });
    },

    stacks({ x, rows }, of) {
      const parts = new Map();
      rows.forEach((row) => row.parts.forEach((part) => parts.set(part.name, part.colour)));
      const names = [...parts].sort((a, b) => a[1] - b[1]);
      const value = (row, name) => (row.parts.find((part) => part.name === name) || { value: 0 }).value;
      const sums = rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0));
      const behind = (i) => rows[i].label || show(x.unit, sums[i]);
      const longest = Math.max(...rows.map((row) => row.name.length));
      const series = names.map(([name, number]) => ({
        type: "bar",
        name,
        stack: "all",
        barMaxWidth: 28,
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
        label: {
          show: true,
          position: "right",
          color: of.ink,
          formatter: ({ dataIndex }) => behind(dataIndex),
        },
      });
      return common(of, {
        height: 96 + 40 * rows.length,
        grid: grid(of, { left: Math.min(of.width / 3, Math.max(78, 7 * longest)), right: 64, bottom: 46 }),
        legend: Object.assign(
          legend(
            of,
            names.map(([name]) => name),
          ),
          { show: true },
        ),
        toolbox: tools(of),
        tooltip: tooltip(of, {
          trigger: "axis",
          axisPointer: { type: "shadow", shadowStyle: { color: of.line, opacity: 0.4 } },
          formatter: ([{ dataIndex }]) => {
            const list = rows[dataIndex].parts.map((part) => [
              colour(of, part.colour),
              part.name,
              show(x.unit, part.value),
            ]);
            return tip(rows[dataIndex].name, list.concat([["", "sum", behind(dataIndex)]]));
          },
        }),
        xAxis: numbers(of, x, sums, 26),
        yAxis: category(of, { label: "", names: rows.map((row) => row.name) }, 0, {
          inverse: true,
          axisTick: { show: false },
        }),
        series,
      });
    },

    lanes({ x, lanes }, of) {
      const cells = lanes.flatMap((lane, i) => lane.slices.map((slice) => [slice.from, slice.to, i, slice.colour]));
      const what = lanes.flatMap((lane) => lane.slices.map((slice) => slice.name));
      const edges = cells.flatMap(([from, to]) => [from, to]);
      const axis = Object.assign(numbers(of, x, edges, 26), { splitLine: { show: false }, interval: undefined });
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
        axis: Object.assign(numbers(of, x, edges, 26), { splitLine: { show: false } }),
        names: all.map((row) => row.name),
        tall: Math.min(22, Math.max(7, 300 / all.length)),
        cells: all.flatMap((row, i) => row.shares.map((share, j) => [edges[j], edges[j + 1], i, share])),
        inset: 0.5,
        // Slightly wider, so that neighbours leave no gap.
        wide: (width) => width + 0.4,
        fill: (share) => shade(of, share),
        formatter: ({ value: [from, to, row, share] }) =>
          tip(all[row].name, [["", show(x.unit, from) + " to " + show(x.unit, to), SHOW.share(share) + " busy"]]),
      });
      return Object.assign(options, { timed: true });
    },

    grid({ x, y, values }, of) {
      const most = Math.max(...values.flat(), 1e-9);
      // The text on a busy cell has the colour of the background.
      const cell = (i, share, j) => ({ value: [j, i, share], label: { color: share > 0.5 * most ? of.card : of.ink } });
      const cells = values.flatMap((row, i) => row.map((share, j) => cell(i, share, j)));
      const labelled = (of.width - 76) / x.names.length > 42;
      return common(of, {
        height: Math.min(420, Math.max(36 * y.names.length, 60)) + 118,
        grid: grid(of, { left: 58, top: 24, bottom: 90 }),
        toolbox: tools(of),
        tooltip: tooltip(of, {
          formatter: ({ value: [j, i, share] }) =>
            tip(y.label + " " + y.names[i] + ", " + x.label + " " + x.names[j], [["", "busy", SHOW.share(share)]]),
        }),
        visualMap: {
          min: 0,
          max: most,
          calculable: !of.printing,
          orient: "horizontal",
          left: "center",
          bottom: 2,
          itemHeight: 130,
          itemWidth: 12,
          inRange: { color: [of.idle, of.busy] },
          text: of.printing ? [SHOW.share(most), "0%"] : undefined,
          textStyle: { color: of.soft },
          formatter: (share) => SHOW.share(share),
        },
        xAxis: category(of, x, 26, { position: "bottom", axisTick: { show: false } }),
        yAxis: category(of, y, 34, { inverse: true, axisTick: { show: false } }),
        series: [
          {
            type: "heatmap",
            data: cells,
            itemStyle: { borderColor: of.card, borderWidth: 1 },
            emphasis: { itemStyle: { borderColor: of.ink } },
            label: { show: labelled, fontSize: 11, formatter: ({ value }) => SHOW.share(value[2]) },
          },
        ],
      });
    },

    bars({ x, y, bars }, of) {
      const name = ([from, to]) =>
        to - from > 1 ? show(x.unit, from) + "-" + show(x.unit, to - 1) : show(x.unit, from);
      return common(of, {
        height: of.printing ? 215 : 290,
        grid: grid(of, { top: 28 }),
        toolbox: tools(of, { yAxisIndex: "none" }),
        dataZoom: zoom(of, { xAxisIndex: 0 }),
        tooltip: tooltip(of, {
          trigger: "axis",
          axisPointer: { type: "shadow", shadowStyle: { color: of.line, opacity: 0.4 } },
          formatter: ([{ dataIndex }]) =>
            tip(x.label + ": " + name(bars[dataIndex]), [["", y.label, show(y.unit, bars[dataIndex][2])]]),
        }),
        xAxis: category(of, { label: x.label, names: bars.map(name) }, 26),
        yAxis: numbers(
          of,
          y,
          bars.map((bar) => bar[2]),
          48,
        ),
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

  // The options of a figure of this width. `height` and `timed` (over simulated time) are for report.js, not ECharts.
  const options = (figure, width, printing) => CHARTS[figure.chart](figure, look(width, printing));

  return { options };
})();

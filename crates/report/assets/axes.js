// The colours, texts and axes that charts are made of.
"use strict";

const axes = (() => {
  const { tick, nines, share, percentile } = numbers;

  // --- colours and tooltips ---

  const PALETTE = 8;
  // Narrower charts have no room for all tools, and no mouse to draw a box with.
  const NARROW = 480;
  const FONT = 12;

  // The current colours of the style sheet.
  function look(width, printing) {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue("--" + name).trim();
    const colours = Array.from({ length: PALETTE }, (_, i) => of("c" + i));
    const names = ["ink", "soft", "line", "card", "idle", "busy"];
    return Object.assign(Object.fromEntries(names.map((name) => [name, of(name)])), { colours, width, printing });
  }

  const colour = (of, number) => of.colours[number % of.colours.length];

  // The colour between idle and busy for a share, and black or white on it, whichever stands out more.
  function blend(of, share) {
    const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    const [from, to] = [channels(of.idle), channels(of.busy)];
    const part = Math.min(1, Math.max(0, share));
    return from.map((value, i) => Math.round(value + (to[i] - value) * part));
  }
  const shade = (of, share) => "rgb(" + blend(of, share).join(",") + ")";
  function inkOn(of, share) {
    const linear = (value) => (value <= 10 ? value / 3294 : Math.pow((value / 255 + 0.055) / 1.055, 2.4));
    const [red, green, blue] = blend(of, share).map(linear);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
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

  // The width of texts as they will be drawn.
  const pen = document.createElement("canvas").getContext("2d");
  function widest(texts) {
    pen.font = FONT + "px " + getComputedStyle(document.body).fontFamily;
    return Math.ceil(Math.max(0, ...texts.map((text) => pen.measureText(text).width)));
  }

  // The number of lines that a text takes at this width.
  function wrapped(text, width) {
    let [lines, line] = [1, ""];
    for (const word of text.split(" ")) {
      const longer = line ? line + " " + word : word;
      if (line && widest([longer]) > width) [lines, line] = [lines + 1, word];
      else line = longer;
      // A word that is too long is broken where the line ends.
      lines += Math.max(0, Math.ceil(widest([word]) / width) - 1);
    }
    return lines;
  }

  // The options of every axis.
  function axis(of, label, extra) {
    return Object.assign(
      {
        name: label,
        nameLocation: "middle",
        nameTextStyle: { color: of.ink },
        axisLabel: { color: of.soft, hideOverlap: true, fontSize: FONT, margin: 11 },
        axisLine: { show: true, lineStyle: { color: of.soft } },
        axisTick: { lineStyle: { color: of.soft } },
        splitLine: { lineStyle: { color: of.line } },
        minorSplitLine: { show: false },
      },
      extra,
    );
  }

  // The tick interval: at most five steps up to the end, each 1, 2 or 5 times a power of ten in the unit shown.
  function step(to) {
    const power = Math.pow(10, Math.floor(Math.log10(to / 5)));
    return [1, 2, 5, 10].map((n) => n * power).find((size) => size * 5 >= to * 0.999);
  }

  // The scale is part of the axis's name where it is not linear: panels beside each other may differ.
  const titled = ({ label, scale }, foot) =>
    label + (scale === "log" ? " (log scale" + (foot === undefined ? ")" : ", 0 at its foot)") : "");

  // Where an axis with these values draws a number, and the end of a spread. A logarithmic axis has no place for zero: values of
  // zero stand at its foot, a decade below the least other value, and a spread that reaches down to zero is cut there, or at
  // the least value if there is no foot.
  function placing({ scale }, values) {
    const missing = (value) => value === null || value === undefined;
    if (scale !== "log") {
      const at = (value) => (missing(value) ? null : scale === "nines" ? nines(value) : value);
      return { at, end: at };
    }
    const positive = values.filter((value) => value > 0);
    const least = positive.length ? Math.min(...positive) : 1;
    const foot = values.includes(0) ? Math.pow(10, Math.floor(Math.log10(least)) - 1) : undefined;
    const at = (value) => (value > 0 ? value : value === 0 && foot !== undefined ? foot : null);
    const end = (value) => (missing(value) ? null : value > 0 ? value : foot === undefined ? least : foot);
    return { at, end, foot };
  }

  // An axis of numbers; `values` are all the values on it as they are placed, `cover` what panels beside it have, `foot` where
  // a logarithmic axis has zero.
  function scaled(of, { label, unit, scale, to, cover }, values, gap, foot) {
    const known = values.concat(cover || []).filter((value) => value !== null && (scale !== "log" || value > 0));
    const most = Math.max(...known, 0);
    const all = axis(of, titled({ label, scale }, foot), { nameGap: gap });
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
    all.axisLabel.formatter = (value) => tick(unit, value === foot ? 0 : value);
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
    const least = Math.min(...known, 0);
    const size = step(Math.max(most, -least) || 1);
    const [min, max] = [Math.floor(least / size) * size, Math.ceil((most || 1) / size) * size];
    return Object.assign(all, { type: "value", min, max, interval: size });
  }

  const category = (of, { label, names }, gap, extra) =>
    axis(of, label, Object.assign({ type: "category", data: names, nameGap: gap, splitLine: { show: false } }, extra));

  // A horizontal axis of names on which every name has its place: beside each other, or else turned. Gives the axis and
  // the room below it. Only quantities in order may be thinned out, where even turned names have no room.
  function named(of, { label, names, ordered }, extra) {
    const [room, wide] = [(of.width - 84) / Math.max(1, names.length), widest(names)];
    const turned = wide + 8 > room;
    const every = turned && ordered ? Math.ceil((FONT + 2) / room) : 1;
    const longest = Math.min(turned ? wide : FONT, 120);
    const axis = category(of, { label, names }, longest + 14, extra);
    Object.assign(axis.axisLabel, {
      hideOverlap: false,
      interval: every - 1,
      rotate: turned ? 90 : 0,
      width: turned ? 120 : undefined,
      overflow: "truncate",
    });
    return { axis, below: longest + 34 };
  }

  // A horizontal axis of quantities at their numbers, with a mark and a name for each. Gives the axis, the place of a name, the
  // name nearest to a place, and the room below. Where neighbours have no room beside each other, names are turned, and left
  // out where even turned names have none.
  function placed(of, { label, names, places: { at, scale } }) {
    const position = scale === "log" ? Math.log10 : (value) => value;
    const all = at.map(position);
    const order = all.map((_, i) => i).sort((a, b) => all[a] - all[b]);
    const [least, most] = [all[order[0]], all[order[order.length - 1]]];
    const free = (most - least) * 0.05;
    const pixels = (of.width - 84) / (most - least + 2 * free);
    const apart = (a, b) => Math.abs(all[a] - all[b]) * pixels;
    const half = (i) => widest([names[i]]) / 2;
    const pairs = order.slice(1).map((i, k) => [order[k], i]);
    const turned = pairs.some(([a, b]) => apart(a, b) < half(a) + half(b) + 8);
    const shown = [];
    for (const i of order) {
      const before = shown[shown.length - 1];
      if (before === undefined || apart(before, i) >= (turned ? FONT + 2 : half(before) + half(i) + 8)) shown.push(i);
    }
    const longest = Math.min(turned ? widest(names) : FONT, 120);
    const nearest = (place) => order.reduce((best, i) => (Math.abs(all[i] - place) < Math.abs(all[best] - place) ? i : best));
    const of_axis = axis(of, titled({ label, scale }), {
      type: "value",
      nameGap: longest + 14,
      min: least - free,
      max: most + free,
      splitLine: { show: false },
    });
    Object.assign(of_axis.axisLabel, {
      customValues: shown.map((i) => all[i]),
      formatter: (place) => names[nearest(place)],
      hideOverlap: false,
      rotate: turned ? 90 : 0,
      width: turned ? 120 : undefined,
      overflow: "truncate",
    });
    of_axis.axisTick = Object.assign({ show: true, customValues: order.map((i) => all[i]) }, of_axis.axisTick);
    return { axis: of_axis, at: (i) => all[i], nearest, below: longest + 34 };
  }

  // A vertical axis of names, each of them shown, wrapped if it is long. Gives the axis and the room left of it.
  function listed(of, names, { tall, extra }) {
    const left = Math.min(Math.round(of.width * 0.42), Math.max(64, widest(names) + 14));
    const axis = category(of, { label: "", names }, 0, Object.assign({ inverse: true, axisTick: { show: false } }, extra));
    Object.assign(axis.axisLabel, { hideOverlap: false, interval: 0, width: left - 12, overflow: "break", lineHeight: FONT + 1 });
    const lines = Math.max(...names.map((name) => wrapped(name, left - 12)), 1);
    return { axis, left, tall: Math.max(tall, lines * (FONT + 1) + 8) };
  }

  return { PALETTE, NARROW, look, colour, shade, inkOn, tip, placing, scaled, category, named, placed, listed, widest };
})();

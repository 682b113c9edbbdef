// Options that all charts have: zoom, tools, tooltip, room, strokes.
"use strict";

const options = (() => {
  const { PALETTE, NARROW, colour } = axes;

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

  // A chart between two axes that zooms along the horizontal one.
  const plot = (of, more) =>
    common(
      of,
      Object.assign(
        {
          height: tall(of),
          grid: grid(of),
          toolbox: tools(of, { yAxisIndex: "none" }),
          dataZoom: zoom(of, { xAxisIndex: 0 }),
        },
        more,
      ),
    );

  // Series beyond the palette are hatched or dashed.
  const hatched = (of) => ({ color: of.card, dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4 });
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];
  const symbol = (number) => SYMBOLS[number % SYMBOLS.length];

  const stroke = (of, number) => ({
    itemStyle: { color: colour(of, number) },
    lineStyle: { color: colour(of, number), width: 2, type: number < PALETTE ? "solid" : "dashed" },
  });

  return { zoom, tools, common, plot, tooltip, grid, tall, hatched, stroke, symbol, SYMBOLS };
})();

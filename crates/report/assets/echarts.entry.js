// The parts of Apache ECharts that charts.js uses, and nothing else.
import * as core from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendPlainComponent,
  LegendScrollComponent,
  ToolboxComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import { SVGRenderer } from "echarts/renderers";

core.use([
  AriaComponent,
  BarChart,
  CustomChart,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  HeatmapChart,
  LegendPlainComponent,
  LegendScrollComponent,
  LineChart,
  SVGRenderer,
  ToolboxComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
]);

export const { init, version } = core;

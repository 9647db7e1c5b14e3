// A comparison: the selected test's percentile plots of both sides over each other.

import $ from "../../lib/jquery.module.min.js";
import { percentilePlot } from "../charts/percentiles.js";
import { applyChartDefaults } from "../charts/theme.js";
import { block } from "../lib/block.js";

applyChartDefaults();
const frame = $("[data-percentiles]");
const { lines } = block("curves");
frame.prop("hidden", !lines.length);
if (frame.length && lines.length) {
  const canvas = frame.find("canvas").get(0);
  percentilePlot(canvas, lines, { switcher: frame.find(".seg").get(0) });
  // The shift below has the same x axis: it takes the plot's place between its labels.
  const below = frame.parent().find(".shift-frame");
  new ResizeObserver(() => {
    const { left, right } = window.Chart.getChart(canvas).chartArea;
    below.css({ paddingLeft: left, paddingRight: canvas.clientWidth - right });
  }).observe(canvas);
}

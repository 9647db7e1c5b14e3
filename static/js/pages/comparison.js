// A comparison: the selected test's percentile plots of both sides over each other.

import $ from "../../lib/jquery.module.min.js";
import { percentilePlot } from "../charts/percentiles.js";
import { applyChartDefaults } from "../charts/theme.js";

applyChartDefaults();
const frame = $("[data-percentiles]");
const { lines } = JSON.parse($("#curves").text());
if (frame.length) {
  percentilePlot(
    frame.find("canvas").get(0),
    lines.filter((line) => line.curve.length),
    { switcher: frame.find(".seg").get(0) },
  );
}

// Two runs: their percentile plots over each other.

import { percentilePlot } from "../charts/percentiles.js";
import { applyChartDefaults } from "../charts/theme.js";

applyChartDefaults();
const frame = document.querySelector("[data-percentiles]");
const { lines } = JSON.parse(document.getElementById("curves").textContent);
percentilePlot(
  frame.querySelector("canvas"),
  lines.filter((line) => line.curve.length),
  { switcher: frame.querySelector(".switch") },
);

// The campaign's page: live line and chart of the current run, percentile plots and blocks.

import "../lib/dialogs.js";
import { blocksChart } from "../charts/blocks.js";
import { figure } from "../charts/numbers.js";
import { percentilePlot } from "../charts/percentiles.js";
import { overTime } from "../charts/series.js";
import { applyChartDefaults } from "../charts/theme.js";
import { counted } from "../lib/format.js";
import { block, livePage } from "../live/page.js";
import { latest, mergePoints } from "../live/points.js";

applyChartDefaults();
const plots = new Map();
let current = { run: 0, points: [], chart: null };

function drawPlots() {
  const data = block("plot-data");
  for (const frame of document.querySelectorAll("[data-plot], [data-blocks]")) {
    const lines = data.plans[frame.dataset.plot ?? frame.dataset.blocks] ?? [];
    if (frame.dataset.plot === undefined) drawBlocks(frame, lines, data.repeats);
    else drawPercentiles(frame, lines.filter((line) => line.curve.length));
  }
}

function drawPercentiles(frame, lines) {
  draw(frame, lines, (canvas) => percentilePlot(canvas, lines, { switcher: frame.querySelector(".switch") }));
}

function drawBlocks(frame, all, repeats) {
  const lines = all.filter((line) => line.means.some((mean) => mean !== null));
  draw(frame, lines, (canvas) => blocksChart(canvas, lines, repeats));
}

function draw(frame, lines, make) {
  frame.querySelector(".chart-empty").hidden = lines.length > 0;
  const known = plots.get(frame);
  if (known) known.show(lines);
  else if (lines.length) plots.set(frame, make(frame.querySelector("canvas")));
}

// The page names the run under way and has its points so far.
function takeRun() {
  const plan = block("current-plan");
  const section = document.querySelector("[data-while-live]");
  if (!section) return;
  // Between two runs the last one stays; the campaign's end takes the section away.
  section.hidden = !plan && !(isUnderWay() && current.run);
  if (!plan) return;
  const points = block(`points-${plan.run}`) ?? [];
  if (plan.run === current.run) current.points = mergePoints(points, current.points);
  else current = { ...current, run: plan.run, points };
  current.chart ??= overTime(section.querySelector("[data-over-time]"), plan);
  current.chart.show(current.points, true, plan);
  tellNow();
}

function isUnderWay() {
  return document.querySelector("[data-live=progress] [data-progress]") !== null;
}

function tellNow() {
  const line = document.querySelector(`[data-now="${current.run}"]`);
  const point = latest(current.points);
  if (!line || !point) return;
  for (const cell of line.querySelectorAll("[data-now-key]")) {
    cell.textContent = nowWords(cell.dataset.nowKey, point);
  }
}

function nowWords(key, point) {
  if (key === "rate") return figure(point.ok + point.failed);
  if (key === "errors") return point.failed ? counted(point.failed, "errors") : "";
  return figure(point[key]);
}

function second({ run, points }) {
  if (run !== current.run) return;
  current.points = mergePoints(current.points, points);
  current.chart?.show(current.points, true);
  tellNow();
}

drawPlots();
takeRun();
livePage({
  second,
  replaced() {
    drawPlots();
    takeRun();
  },
});

// The campaign's page: live line and chart of the current run, percentile plots and blocks.

import $ from "../../lib/jquery.module.min.js";
import { blocksChart } from "../charts/blocks.js";
import { figure } from "../charts/numbers.js";
import { percentilePlot } from "../charts/percentiles.js";
import { overTime } from "../charts/series.js";
import { applyChartDefaults } from "../charts/theme.js";
import "../lib/dialogs.js";
import { counted } from "../lib/format.js";
import { block, livePage } from "../live/page.js";
import { latest, mergePoints } from "../live/points.js";

applyChartDefaults();
const plots = new Map();
let current = { run: 0, points: [], chart: null };

function drawPlots() {
  const data = block("plot-data");
  $("[data-plot]").each((_, frame) => {
    const lines = (data.plans[frame.dataset.plot] ?? []).filter((line) => line.curve.length);
    const [switcher] = $(frame).find(".switch");
    draw(frame, lines, (canvas) => percentilePlot(canvas, lines, { switcher }));
  });
  $("[data-blocks]").each((_, frame) => {
    const all = data.plans[frame.dataset.blocks] ?? [];
    const lines = all.filter((line) => line.means.some((mean) => mean !== null));
    draw(frame, lines, (canvas) => blocksChart(canvas, lines, data.repeats));
  });
}

function draw(frame, lines, make) {
  $(frame).find(".chart-empty").prop("hidden", lines.length > 0);
  const known = plots.get(frame);
  if (known) known.show(lines);
  else if (lines.length) plots.set(frame, make($(frame).find("canvas").get(0)));
}

// The page names the run under way and has its points so far.
function takeRun() {
  const plan = block("current-plan");
  const section = $("[data-while-live]");
  const isUnderWay = $("[data-live=progress] [data-progress]").length > 0;
  // Between two runs the last one stays; the campaign's end takes the section away.
  section.prop("hidden", !plan && !(isUnderWay && current.run));
  if (!plan || !section.length) return;
  const points = block(`points-${plan.run}`) ?? [];
  if (plan.run === current.run) current.points = mergePoints(points, current.points);
  else current = { ...current, run: plan.run, points };
  current.chart ??= overTime(section.find("[data-over-time]").get(0), plan);
  current.chart.show(current.points, true, plan);
  tellNow();
}

function tellNow() {
  const point = latest(current.points);
  if (!point) return;
  $(`[data-now="${current.run}"] [data-now-key]`).each((_, cell) => {
    $(cell).text(nowWords(cell.dataset.nowKey, point));
  });
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

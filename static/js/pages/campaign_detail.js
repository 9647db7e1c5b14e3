// The campaign's page: live line and chart of the current run, percentile plots and blocks.

import $ from "../../lib/jquery.module.min.js";
import { blocksChart } from "../charts/blocks.js";
import { percentilePlot } from "../charts/percentiles.js";
import { overTime } from "../charts/series.js";
import { sweepReader } from "../charts/sweep.js";
import { applyChartDefaults } from "../charts/theme.js";
import { drawInTurn } from "../charts/turns.js";
import { block } from "../lib/block.js";
import "../lib/dialogs.js";
import "../lib/error_rows.js";
import { showTabs } from "../lib/tabs.js";
import { livePage, showProgress } from "../live/page.js";
import { pointsOf } from "../live/points.js";
import { toldRuns } from "../live/told.js";

applyChartDefaults();
const plots = new Map();
// A run's seconds may come before the page names it.
const runs = toldRuns();
let current = { run: 0, chart: null };

function drawPlots() {
  const data = block("plot-data");
  $("[data-percentiles]").each((_, frame) => {
    const lines = (data.plans[frame.dataset.percentiles] ?? []).filter((line) => line.curve.length);
    const [switcher] = $(frame).find(".seg");
    draw(frame, lines, (canvas) => percentilePlot(canvas, lines, { switcher }));
  });
  const shared = data.shares_scale ? data.plans.flat().flatMap(measuredOf) : null;
  $("[data-blocks]").each((_, frame) => {
    const lines = (data.plans[frame.dataset.blocks] ?? []).filter((line) => measuredOf(line).length);
    draw(frame, lines, (canvas) => blocksChart(canvas, lines, data.repeats, shared), shared);
  });
}

// The means of a line's runs, with those that do not count.
function measuredOf(line) {
  return [...line.means, ...(line.apart ?? [])].filter((mean) => mean !== null);
}

function draw(frame, lines, make, shared = null) {
  $(frame).prop("hidden", !lines.length);
  drawInTurn(frame, () => {
    const known = plots.get(frame);
    if (known) known.show(lines, shared);
    else if (lines.length) plots.set(frame, make($(frame).find("canvas").get(0)));
  });
}

// The page names the run under way, or the only run; of a finished one it has the points, too.
function takeRun() {
  const plan = block("current-plan");
  const section = $("[data-while-live]");
  const isGoingOn = $(".now-line").length > 0;
  // Between two runs the last one stays; the campaign's end takes the section away.
  section.prop("hidden", !plan && !(isGoingOn && current.run));
  if (!plan || !section.length) return;
  runs.took(plan.run, block("points"));
  current.chart ??= overTime(section.find("[data-over-time]").get(0), plan);
  current.run = plan.run;
  current.chart.show(runs.of(plan.run).points, isUnderWay(), plan, pointsOf(block("machine-points")));
  tellNow();
}

function isUnderWay() {
  return $("[data-run-progress]").length > 0;
}

function tellNow() {
  const { now } = runs.of(current.run);
  $(`[data-now="${current.run}"] [data-now-key]`).each((_, cell) => {
    $(cell).text(now[cell.dataset.nowKey] ?? cell.textContent);
  });
}

function second(news) {
  runs.told(news);
  if (news.run !== current.run) return;
  current.chart?.show(runs.of(news.run).points, isUnderWay());
  if (news.progress) showProgress(news.progress);
  tellNow();
}

const findSweeps = sweepReader();
drawPlots();
takeRun();
livePage({
  second,
  replaced(names) {
    if (names.includes("tabs")) showTabs();
    if (names.includes("sweep")) findSweeps();
    drawPlots();
    takeRun();
  },
});

// The run's page: panels over time and percentile plot; the same live and finished.

import $ from "../../lib/jquery.module.min.js";
import { percentilePlot } from "../charts/percentiles.js";
import { requestsChart } from "../charts/requests.js";
import { overTime } from "../charts/series.js";
import { applyChartDefaults } from "../charts/theme.js";
import { drawInTurn } from "../charts/turns.js";
import { block } from "../lib/block.js";
import "../lib/dialogs.js";
import "../lib/error_rows.js";
import { showTabs } from "../lib/tabs.js";
import "../lib/tool_reports.js";
import { livePage, showProgress } from "../live/page.js";
import { mergePoints, pointsOf } from "../live/points.js";

applyChartDefaults();
let plan = block("run-plan");
const panels = $("[data-over-time]");
let points = pointsOf(block("points"));
let chart = null;
let plot = null;
let single = null;

function show() {
  $("[data-no-points]").prop("hidden", points.length > 0);
  panels.find("[data-panels]").prop("hidden", points.length === 0);
  if (!points.length) return;
  chart ??= overTime(panels.get(0), plan);
  chart.show(points, $("[data-progress]").length > 0, plan, pointsOf(block("machine-points")));
}

function showCurve() {
  const frame = $("[data-percentiles]");
  const curve = block("curve") ?? [];
  frame.prop("hidden", !curve.length);
  if (!curve.length) return;
  const lines = [{ label: "this run", scheme: plan.scheme, mode: "new", curve }];
  drawInTurn(frame.get(0), () => {
    if (plot) plot.show(lines);
    else plot = percentilePlot(frame.find("canvas").get(0), lines, { switcher: frame.find(".seg").get(0) });
  });
}

function showRequests() {
  const section = document.querySelector("[data-requests]");
  const columns = block("requests");
  section.hidden = !columns?.s;
  if (section.hidden) return;
  drawInTurn(section, () => {
    if (single) single.show(columns);
    else single = requestsChart(section.querySelector("figure"), columns);
  });
}

function replaced() {
  // A finished page has all of them, with those that came late; a live one has none.
  const all = pointsOf(block("points"));
  if (all.length) points = all;
  plan = block("run-plan");
  show();
  showCurve();
  showRequests();
}

livePage({
  second(news) {
    points = mergePoints(news.all ? [] : points, pointsOf(news.points));
    show();
    if (news.progress) showProgress(news.progress);
  },
  replaced(names) {
    if (names.includes("tabs")) showTabs();
    replaced();
  },
});
show();
showCurve();
showRequests();

// The run's page: panels over time, percentile plot, sparklines; the same live and finished.

import $ from "../../lib/jquery.module.min.js";
import { percentilePlot } from "../charts/percentiles.js";
import { overTime } from "../charts/series.js";
import { drawSpark } from "../charts/spark.js";
import { applyChartDefaults } from "../charts/theme.js";
import "../lib/dialogs.js";
import { counted } from "../lib/format.js";
import { block, livePage } from "../live/page.js";
import { mergePoints, progressOf } from "../live/points.js";

const REFRESH_EVERY = 5;
const SPARKS = {
  rate: (point) => point.ok,
  p50: (point) => point.p50_ms,
  p95: (point) => point.p95_ms,
  p99: (point) => point.p99_ms,
  error_share: (point) => errorShare(point),
  errors: (point) => errorShare(point),
};

applyChartDefaults();
const plan = block("run-plan");
const panels = $("[data-over-time]");
let points = block(`points-${plan.run}`) ?? [];
let chart = null;
let plot = null;
let sinceRefresh = 0;

function errorShare(point) {
  const all = point.ok + point.failed + point.dropped;
  return all ? (point.failed + point.dropped) / all : null;
}

function show() {
  $("[data-no-points]").prop("hidden", points.length > 0);
  panels.prop("hidden", points.length === 0);
  if (!points.length) return;
  chart ??= overTime(panels.get(0), plan);
  chart.show(points, $("[data-progress]").length > 0);
  showSparks();
  showProgress();
}

function showSparks() {
  const measured = points.filter((point) => point.second >= 0).slice(-120);
  $("[data-spark]").each((_, svg) => {
    const value = SPARKS[svg.dataset.spark];
    if (value) drawSpark(svg, measured.map((point) => value(point) ?? null));
  });
}

function showProgress() {
  const line = $("[data-progress]");
  if (!line.length || !$("#live").data("stream")) return;
  const { measured, completed, share, isWarmUp } = progressOf(points, plan);
  line.find("progress").val(share ?? 0);
  const of = plan.seconds ? ` of ${Number(plan.seconds.toFixed(1))}` : "";
  const requests = plan.seconds || !plan.requests ? "" : `, ${completed} of ${counted(plan.requests, plan.isExchange ? "connections" : "requests")}`;
  line.find("[data-progress-words]").text(
    isWarmUp ? `warming up, ${-points.at(-1).second} s left` : `${measured}${of} s measured${requests}`,
  );
  $("[data-measured]").text(`What it measured in ${measured} s`);
}

function showCurve() {
  const frame = $("[data-percentiles]");
  const curve = block("curve") ?? [];
  frame.find(".chart-empty").prop("hidden", curve.length > 0);
  if (!curve.length) return;
  const lines = [{ label: "this run", scheme: plan.scheme, mode: "new", curve }];
  if (plot) plot.show(lines);
  else plot = percentilePlot(frame.find("canvas").get(0), lines, { switcher: frame.find(".switch").get(0) });
}

function replaced() {
  points = mergePoints(block(`points-${plan.run}`) ?? [], points);
  show();
  showCurve();
}

const ask = livePage({
  second(news) {
    points = mergePoints(points, news.points);
    show();
    sinceRefresh += 1;
    if (sinceRefresh % REFRESH_EVERY === 0) ask();
  },
  replaced,
});
show();
showCurve();

// The run's page: panels over time and the other charts; the same live and finished.

import $ from "jquery";
import { overTime } from "../charts/over_time.js";
import { block } from "../lib/block.js";
import "../lib/error_rows.js";
import { showTabs } from "../lib/tabs.js";
import "../lib/tool_reports.js";
import { livePage, showProgress } from "../live/page.js";
import { mergePoints, pointsOf } from "../live/points.js";
import { refreshPage } from "../live/regions.js";

let plan = block("run-plan");
let points = pointsOf(block("points"));
let chart = null;

function show() {
  const [element] = $("[data-over-time]");
  $("[data-no-points]").prop("hidden", points.length > 0);
  $(element).prop("hidden", points.length === 0);
  if (!points.length) return;
  chart ??= overTime(element, plan, showRange);
  chart.show(points, $("[data-progress]").length > 0, plan, pointsOf(block("machine-points")));
}

// The tables of the range that was chosen.
async function showRange() {
  const names = await refreshPage();
  if (names?.includes("tabs")) showTabs();
}

function replaced() {
  // A finished page has all of them, with those that came late; a live one has none.
  const all = pointsOf(block("points"));
  if (all.length) points = all;
  plan = block("run-plan");
  show();
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

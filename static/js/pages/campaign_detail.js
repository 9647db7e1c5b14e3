// The campaign's page: live line and chart of the current run, and the other charts.

import $ from "jquery";
import { overTime } from "../charts/over_time.js";
import { block } from "../lib/block.js";
import "../lib/error_rows.js";
import { showTabs } from "../lib/tabs.js";
import { livePage, showProgress } from "../live/page.js";
import { pointsOf } from "../live/points.js";
import { toldRuns } from "../live/told.js";

// A run's seconds may come before the page names it.
const runs = toldRuns();
let current = { run: 0, chart: null };

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

takeRun();
livePage({
  second,
  replaced(names) {
    if (names.includes("tabs")) showTabs();
    takeRun();
  },
});

import assert from "node:assert/strict";
import test from "node:test";

import { toldRuns } from "../../static/js/live/told.js";

const news = (run, second, more = {}) => ({ run, points: { second: [second] }, now: { p50: `${run}` }, ...more });
const seconds = ({ points }) => points.map(({ second }) => second);

test("a run that the page names late has its figures, although the next run's came before", () => {
  const runs = toldRuns();
  for (const run of [1, 2, 3, 4]) runs.told(news(run, 0));
  assert.deepEqual(runs.of(2), { points: [{ second: 0 }], now: { p50: "2" } });
});

test("seconds of a run follow each other, and the last figures count", () => {
  const runs = toldRuns();
  runs.told(news(1, 0));
  runs.told(news(1, 1, { now: { p50: "later" } }));
  assert.deepEqual(seconds(runs.of(1)), [0, 1]);
  assert.deepEqual(runs.of(1).now, { p50: "later" });
});

test("what tells all replaces what was told", () => {
  const runs = toldRuns();
  runs.told(news(1, 0));
  runs.told(news(1, 7, { all: true }));
  assert.deepEqual(seconds(runs.of(1)), [7]);
});

test("a run that nobody spoke of has nothing", () => {
  assert.deepEqual(toldRuns().of(1), { points: [], now: {} });
});

test("a finished run has the page's points, and the figures that it was told with", () => {
  const runs = toldRuns();
  runs.told(news(1, 0));
  runs.took(1, { second: [0, 1] });
  assert.deepEqual(seconds(runs.of(1)), [0, 1]);
  assert.deepEqual(runs.of(1).now, { p50: "1" });
});

test("a campaign of many runs does not pile up", () => {
  const runs = toldRuns();
  for (let run = 1; run <= 50; run += 1) runs.told(news(run, 0));
  assert.deepEqual(runs.of(1).points, []);
  assert.deepEqual(seconds(runs.of(50)), [0]);
});

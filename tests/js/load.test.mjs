import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { highestPercentile, isComplete, loadCurve, plannedDuration, plannedRequests, readNumber } from "../../static/js/lib/load.js";

const SHARED = new URL("../golden/planned_loads.json", import.meta.url);
const OVER = { model: "over", requests: 100, over_s: 10 };
const OPEN = { model: "open", rate_per_s: 37.5, duration_s: 10 };

test("100 over 10 s start every 100 ms, the last one at 9.9 s", () => {
  const { level, unit, arrivals, from, to } = loadCurve(OVER);
  assert.deepEqual([level, unit, from, to], [10, "requests/s", 0, 10]);
  assert.equal(arrivals.length, 100);
  assert.ok(Math.abs(arrivals.at(-1) - 9.9) < 1e-9);
});

test("the page plans what the server plans", () => {
  for (const { load, requests, duration_s } of JSON.parse(readFileSync(SHARED))) {
    assert.equal(plannedRequests(load), requests);
    assert.equal(plannedDuration(load), duration_s);
  }
});

test("37.5/s over 10 s are 375 requests, not 376", () => {
  assert.equal(plannedRequests(OPEN), 375);
  assert.equal(plannedRequests({ model: "open", rate_per_s: 10, duration_s: 10 }), 100);
  assert.equal(plannedRequests({ model: "open", rate_per_s: 3, duration_s: 1.1 }), 4);
});

test("an open model with a number of requests ends by itself", () => {
  assert.equal(plannedDuration({ model: "open", rate_per_s: 10, requests: 100 }), 10);
});

test("how long a closed model with requests takes is up to the target", () => {
  const load = { model: "closed", connections: 50, requests: 1000 };
  assert.equal(plannedDuration(load), null);
  const curve = loadCurve(load, 5);
  assert.equal(curve.isOpenEnded, true);
  assert.equal(curve.level, 50);
  assert.equal(curve.from, -5);
  assert.equal(curve.unit, "connections");
});

test("the sequential model is one connection", () => {
  assert.equal(loadCurve({ model: "sequential", duration_s: 30 }).level, 1);
});

test("single starts are drawn only while they can be told apart", () => {
  assert.equal(loadCurve({ model: "open", rate_per_s: 200, duration_s: 60 }).arrivals.length, 0);
});

test("nothing is drawn before the model has what it needs", () => {
  assert.equal(isComplete({ model: "over", requests: 100, over_s: null }), false);
  assert.equal(isComplete({ model: "over", requests: 100, over_s: 0 }), false);
  assert.equal(isComplete({ model: "closed", connections: 5, duration_s: 10 }), true);
  assert.equal(isComplete({ model: "wrong" }), false);
  assert.equal(loadCurve({ model: "open", rate_per_s: -1, duration_s: 10 }), null);
});

test("ten samples must lie beyond a percentile", () => {
  assert.equal(highestPercentile(100), 90);
  assert.equal(highestPercentile(1000), 99);
  assert.equal(highestPercentile(20), 50);
  assert.equal(highestPercentile(19), null);
  assert.equal(highestPercentile(1_000_000), 99.999);
});

test("a typed number may have commas for thousands, but no words", () => {
  assert.equal(readNumber("1,000"), 1000);
  assert.equal(readNumber(" 0.5 "), 0.5);
  assert.equal(readNumber("0,5"), null);
  assert.equal(readNumber("ten"), null);
  assert.equal(readNumber(""), null);
});

test("a ramp-up rises from nothing, from the warm-up's beginning on", () => {
  const load = { model: "closed", connections: 10, duration_s: 30, ramp_up_s: 5 };
  assert.deepEqual(loadCurve(load).points, [[0, 0], [5, 10], [30, 10]]);
  assert.deepEqual(loadCurve(load, 2).points, [[-2, 0], [3, 10], [30, 10]]);
  assert.deepEqual(loadCurve({ ...load, ramp_up_s: 0 }).points, [[0, 10], [30, 10]]);
  const byCount = { model: "closed", connections: 10, requests: 100, ramp_up_s: 60 };
  assert.ok(loadCurve(byCount).to > 60);
});

test("drawn gaps need two bounds and a number of requests", () => {
  const load = { model: "open", distribution: "uniform", uniform_min_s: 1, uniform_max_s: 3, requests: 9 };
  assert.equal(isComplete(load), true);
  assert.equal(loadCurve(load).level, 0.5);
  assert.equal(isComplete({ ...load, uniform_min_s: 0 }), true);
  for (const wrong of [{ uniform_min_s: 4 }, { uniform_min_s: null }, { requests: null }]) {
    assert.equal(isComplete({ ...load, ...wrong }), false);
  }
});

test("a window is drawn at its high mark", () => {
  const load = { model: "window", low: 2, high: 4, requests: 9 };
  assert.equal(loadCurve(load).level, 4);
  assert.match(loadCurve(load).unit, /being opened/);
  assert.equal(isComplete({ ...load, low: 5 }), false);
});

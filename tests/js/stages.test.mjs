import assert from "node:assert/strict";
import { test } from "node:test";

import { isComplete, loadCurve, plannedDuration, plannedRequests } from "../../static/js/lib/load.js";
import { usedFields } from "../../static/js/lib/load_fields.js";
import { curveSentence } from "../../static/js/lib/load_words.js";
import { readStages, stagePoints } from "../../static/js/lib/stages.js";

const TEXT = "30: 10\n60: 10-50\n5: 0";

test("stages are read as they are typed", () => {
  assert.deepEqual(readStages("1.5 s: .5/s, 60: 10 - 50"), [
    { duration_s: 1.5, from_per_s: 0.5, to_per_s: 0.5 },
    { duration_s: 60, from_per_s: 10, to_per_s: 50 },
  ]);
  for (const wrong of ["", "often", "30", "30: 10\nsoon", "30: -5"]) assert.equal(readStages(wrong), null);
});

test("the curve goes through the stages, upright at a step", () => {
  const load = { model: "open", stages: readStages(TEXT) };
  const curve = loadCurve(load, 5);
  assert.deepEqual(curve.points, [[-5, 10], [0, 10], [0, 10], [30, 10], [30, 10], [90, 50], [90, 0], [95, 0]]);
  assert.deepEqual([curve.level, curve.from, curve.to, curve.arrivals.length], [50, -5, 95, 0]);
  assert.deepEqual(stagePoints(load.stages).at(-1), [95, 0]);
});

test("stages say how many requests there are, and how long they take", () => {
  const load = { model: "open", stages: readStages(TEXT) };
  assert.deepEqual([plannedRequests(load), plannedDuration(load)], [2100, 95]);
  assert.equal(curveSentence(load), "2,100 requests in 3 stages, 1 min 35 s in all.");
});

test("nothing is drawn of what cannot be read, or sends nothing", () => {
  assert.equal(isComplete({ model: "open", stages: null }), false);
  assert.equal(isComplete({ model: "open", stages: readStages("5: 0") }), false);
});

test("stages take the place of rate and end", () => {
  const used = usedFields({ model: "open", rate_shape: "stages", stop: "requests" });
  assert.ok(used.includes("stages") && used.includes("rate_shape"));
  assert.ok(!used.includes("rate_per_s") && !used.includes("requests") && !used.includes("stop"));
});

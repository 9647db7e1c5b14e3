import assert from "node:assert/strict";
import { test } from "node:test";

import { usedFields } from "../../static/js/lib/load_fields.js";

test("the chosen stop decides which end counts", () => {
  assert.ok(usedFields({ model: "closed", stop: "duration" }).includes("duration_s"));
  assert.ok(!usedFields({ model: "closed", stop: "duration" }).includes("requests"));
  assert.ok(usedFields({ model: "sequential", stop: "requests" }).includes("requests"));
});

test("gaps take the place of the rate and of the duration", () => {
  const used = usedFields({ model: "open", stop: "duration", distribution: "uniform" });
  assert.ok(used.includes("uniform_min_s") && used.includes("requests"));
  assert.ok(!used.includes("rate_per_s") && !used.includes("duration_s") && !used.includes("stop"));
});

test("numbers of each injector are for loads without a schedule", () => {
  const has = (model) => usedFields({ model, stop: "requests" }).includes("per_injector");
  assert.deepEqual(["closed", "sequential", "window", "open", "over"].map(has), [true, true, true, false, false]);
});

test("every load that several injectors can share has shares", () => {
  const has = (model) => usedFields({ model, stop: "requests" }).includes("shares");
  assert.deepEqual(["closed", "window", "open", "over", "sequential"].map(has), [true, true, true, true, false]);
});

test("what is spread over a time has no other end", () => {
  assert.deepEqual(usedFields({ model: "over", stop: "duration" }).includes("stop"), false);
});

test("a window has a time to hold only where it holds for a time", () => {
  assert.ok(usedFields({ model: "window", stop: "requests", hold: "keep_s" }).includes("hold_s"));
  assert.ok(!usedFields({ model: "window", stop: "requests", hold: "close" }).includes("hold_s"));
});

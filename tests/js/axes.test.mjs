import assert from "node:assert/strict";
import test from "node:test";

import {
  logRange, logTicks, pushApart, rangeAround, roundUp, shortened, tickText,
} from "../../static/js/charts/axes.js";

test("logarithmic ticks are 1 2 5 and never too many", () => {
  assert.deepEqual(logTicks(10, 200), [10, 20, 50, 100, 200]);
  assert.ok(logTicks(0.001, 1e6).length <= 6);
});

test("an axis of less than a decade has more than its two ends", () => {
  assert.deepEqual(logTicks(2, 5), [2, 2.5, 3, 4, 5]);
  assert.deepEqual(logTicks(5, 10), [5, 6, 8, 10]);
  assert.deepEqual(logTicks(0.2, 1), [0.2, 0.3, 0.4, 0.5, 0.7, 1]);
});

test("an axis that is shorter than from tick to tick has even ones", () => {
  assert.deepEqual(logTicks(1780, 1930), [1800, 1825, 1850, 1875, 1900, 1925]);
});

test("a logarithmic range opens to the next ticks", () => {
  assert.deepEqual(logRange([12, 87]), { min: 10, max: 100 });
  assert.deepEqual(logRange([10]), { min: 5, max: 20 });
  assert.deepEqual(logRange([]), { min: 1, max: 10 });
});

test("an axis from zero ends at a round number", () => {
  assert.equal(roundUp(1997), 2000);
  assert.equal(roundUp(0), 1);
  assert.equal(roundUp(0.31), 0.4);
});

test("labels are pushed apart and stay inside", () => {
  assert.deepEqual(pushApart([50, 52, 51], 10, 0, 200), [50, 70, 60]);
  const placed = pushApart([95, 96], 10, 0, 100);
  assert.deepEqual(placed, [90, 100]);
});

test("a name that does not fit ends in an ellipsis", () => {
  const widthOf = (text) => text.length * 10;
  assert.equal(shortened("HTTPS new", 90, widthOf), "HTTPS new");
  assert.equal(shortened("HTTPS keep-alive", 100, widthOf), "HTTPS kee…");
  assert.equal(shortened("HTTPS keep-alive", 70, widthOf), "HTTPS…");
  assert.equal(shortened("HTTPS", 1, widthOf), "H…");
});

test("a tick is a plain number and fits beside its axis", () => {
  assert.deepEqual([0.001, 20, 1000, 250_000, 3e6].map(tickText), ["0.001", "20", "1,000", "250k", "3M"]);
});

test("the axis shows small changes, and begins at 0 only where the values come near it", () => {
  assert.deepEqual(rangeAround([26, null, 28.5]), { min: 25, max: 29 });
  assert.equal(rangeAround([1, 30]).min, 0);
  assert.deepEqual(rangeAround([null]), { min: 0, max: 1 });
  const { min, max } = rangeAround([20, 20]);
  assert.ok(min < 20 && max > 20);
});

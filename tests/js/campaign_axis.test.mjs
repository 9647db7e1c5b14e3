import assert from "node:assert/strict";
import test from "node:test";

import { campaignUnder, dateTicks, neighbour, rangeAround } from "../../static/js/charts/campaign_axis.js";

test("dates are evenly spread, not more than have room, the newest among them", () => {
  assert.deepEqual(dateTicks(3, 10), [0, 1, 2]);
  assert.deepEqual(dateTicks(10, 4), [0, 3, 6, 9]);
  assert.deepEqual(dateTicks(1, 0.4), [0]);
  assert.deepEqual(dateTicks(0, 5), []);
});

test("the pointer reads the nearest campaign, and none outside", () => {
  const scale = { getValueForPixel: (pixel) => pixel / 10 };
  assert.equal(campaignUnder(scale, 24, 5), 2);
  assert.equal(campaignUnder(scale, 60, 5), null);
  assert.equal(campaignUnder(scale, null, 5), null);
});

test("arrows go from campaign to campaign and stop at the ends", () => {
  assert.equal(neighbour(null, -1, 5), 4);
  assert.equal(neighbour(null, 1, 5), 0);
  assert.equal(neighbour(2, 1, 5), 3);
  assert.equal(neighbour(4, 1, 5), 4);
  assert.equal(neighbour(0, -1, 5), 0);
});

test("with Shift they go from change to change", () => {
  assert.equal(neighbour(null, -1, 40, [10, 30]), 30);
  assert.equal(neighbour(30, -1, 40, [10, 30]), 10);
  assert.equal(neighbour(12, 1, 40, [10, 30]), 30);
  assert.equal(neighbour(30, 1, 40, [10, 30]), 30);
  assert.equal(neighbour(5, 1, 40, []), 5);
});

test("the axis shows small changes, and begins at 0 only where the values come near it", () => {
  assert.deepEqual(rangeAround([26, null, 28.5]), { min: 25, max: 29 });
  assert.equal(rangeAround([1, 30]).min, 0);
  assert.deepEqual(rangeAround([null]), { min: 0, max: 1 });
  const { min, max } = rangeAround([20, 20]);
  assert.ok(min < 20 && max > 20);
});

import assert from "node:assert/strict";
import test from "node:test";

import { nextPlace } from "../../static/js/charts/reading.js";

test("arrow keys go from place to place and stay at the ends", () => {
  const places = [2, 10, 100];
  assert.equal(nextPlace(places, null, 1), 2);
  assert.equal(nextPlace(places, null, -1), 100);
  assert.equal(nextPlace(places, 10, 1), 100);
  assert.equal(nextPlace(places, 100, 1), 100);
});

test("from between two places the keys begin at an end", () => {
  assert.equal(nextPlace([2, 10], 3.7, 1), 2);
  assert.equal(nextPlace([2, 10], 3.7, -1), 10);
});

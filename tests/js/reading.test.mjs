import assert from "node:assert/strict";
import test from "node:test";

import { nextPlace, upright } from "../../static/js/charts/reading.js";

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

test("a table of more lines than fit beside one another has a row for each", () => {
  const few = { head: ["ms", "a", "b"], rows: [["p50", "1", "2"], ["p99", "3", "4"]] };
  assert.deepEqual(upright(few, 2), few);
  assert.deepEqual(upright(few, 1), { head: ["ms", "p50", "p99"], rows: [["a", "1", "3"], ["b", "2", "4"]] });
});

import assert from "node:assert/strict";
import test from "node:test";

import { csvOf, nextPlace, placesOf, placesWithin, tableOf, upright, wordsAt } from "../../static/js/charts/figures.js";

test("arrow keys go from place to place and stay at the ends", () => {
  const places = [2, 10, 100];
  assert.equal(nextPlace(places, null, 1), 2);
  assert.equal(nextPlace(places, null, -1), 100);
  assert.equal(nextPlace(places, 10, 1), 100);
  assert.equal(nextPlace(places, 100, 1), 100);
});

test("with Shift they go to the next stop, from wherever they are", () => {
  assert.equal(nextPlace([10, 30], 12, 1), 30);
  assert.equal(nextPlace([10, 30], 30, -1), 10);
  assert.equal(nextPlace([], 5, 1), 5);
});

const LINES = { series: [
  { name: "a", x: [1, 2], y: [5, 6], texts: ["5.0", "6.0"] },
  { name: "b", x: [2], y: [7], texts: ["7.0"] },
  { name: "c", x: [2], y: [8], grey: true },
], title: "Time", unit: "ms" };
const GROUP = { panels: [LINES], places: { x: [1, 2], at: ["one", "two"] } };

test("the crosshair reads all named series at its place", () => {
  assert.equal(wordsAt(GROUP, LINES, 2), "two  a 6.0  b 7.0");
  assert.equal(wordsAt(GROUP, LINES, 3), "");
  assert.equal(wordsAt(GROUP, { ...LINES, reads: ["x", "y"] }, 1), "one  x");
});

test("a table has a row for each place and says where a series has nothing", () => {
  assert.deepEqual(tableOf({ spec: GROUP, drawn: [LINES] }), {
    head: ["", "Time a, ms", "Time b, ms"],
    rows: [["one", "5.0", "\u2013"], ["two", "6.0", "7.0"]],
  });
});

test("a table of more series than fit beside one another has a row for each", () => {
  const few = { head: ["ms", "a", "b"], rows: [["p50", "1", "2"]] };
  assert.deepEqual(upright(few, 2), few);
  assert.deepEqual(upright(few, 1), { head: ["ms", "p50"], rows: [["a", "1"], ["b", "2"]] });
});

test("a file quotes what has commas and quotes", () => {
  assert.equal(csvOf({ head: ["a", "b, ms"], rows: [["1", 'x"y']] }), 'a,"b, ms"\r\n1,"x""y"');
});

test("without places of its own a chart has one for each point of a named series", () => {
  assert.deepEqual(placesOf({ panels: [LINES] }).x, [1, 2]);
});

test("a range asks for the days of the places within it", () => {
  const places = { x: [100, 200, 300], asks: ["since", "until"], ranges: [["2", "8"], ["9", "9"], ["10", "10"]] };
  assert.deepEqual(placesWithin(places, 90, 250), { since: "2", until: "9" });
  assert.equal(placesWithin(places, 210, 290), null);
});

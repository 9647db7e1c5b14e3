import assert from "node:assert/strict";
import test from "node:test";

import { queryFor, stretchOf, stretchView, timeAxis, timeTicks, timeUnit, viewIn } from "../../static/js/charts/time_axis.js";

const HOUR = 3600;

function axis(minutes, more = {}) {
  const { min, max } = timeAxis({ last: minutes * 60 - 1, planned: HOUR, isLive: true, view: "so-far", ...more });
  return [min / 60, max / 60];
}

test("the axis grows with the run in steps, and ends where the run will", () => {
  const ends = [0, 2, 5, 6, 11, 22, 26, 31, 46, 60].map((minutes) => axis(minutes)[1]);
  assert.deepEqual(ends, [5, 5, 5, 10, 15, 25, 30, 45, 60, 60]);
  assert.equal(axis(31, { planned: 40 * 60 })[1], 40);
});

test("after an hour the axis grows by the hour", () => {
  assert.deepEqual([61, 119, 121].map((minutes) => axis(minutes, { planned: 5 * HOUR })[1]), [120, 120, 180]);
});

test("a run shorter than the first step shows its planned end at once", () => {
  assert.equal(axis(0.1, { planned: 20 })[1], 20 / 60);
});

test("what is not reached yet begins after the last second", () => {
  assert.equal(timeAxis({ last: 1341, planned: HOUR, isLive: true, view: "so-far" }).reached, 1342);
});

test("the last five minutes move with the run", () => {
  assert.deepEqual(axis(22, { view: "last-5" }), [17, 22]);
  assert.deepEqual(axis(2, { view: "last-5" }), [0, 5]);
  assert.deepEqual(axis(2, { view: "last-5", first: -30, warmUp: 30 }), [0, 5]);
});

test("up to the end is the whole plan from the start", () => {
  assert.deepEqual(axis(2, { view: "to-the-end", warmUp: 30 }), [-0.5, 60]);
});

test("a run of unknown length has room to grow", () => {
  assert.equal(axis(1, { planned: null })[1] * 60, 80);
});

test("the axis of a finished run ends with its data", () => {
  const over = { planned: HOUR, isLive: false, warmUp: 30, view: "so-far" };
  assert.deepEqual(axis(4, over), [0, 4]);
  assert.deepEqual(axis(22, { ...over, first: -30 }), [-0.5, 22]);
  assert.deepEqual(axis(22, { ...over, view: "last-5" }), [17, 22]);
});

test("only a run of more than five minutes has a choice", () => {
  const isLong = (planned) => timeAxis({ planned, isLive: true, view: "so-far" }).isLong;
  assert.deepEqual([300, 301, HOUR].map(isLong), [false, true, true]);
});

test("the view is in the URL beside whatever else is there", () => {
  assert.equal(viewIn("?compare=3&with=4"), "so-far");
  assert.equal(viewIn("?time=last-5"), "last-5");
  assert.equal(viewIn("?time=tomorrow"), "so-far");
  assert.equal(queryFor("last-5", "?compare=3&with=4"), "?compare=3&with=4&time=last-5");
  assert.equal(queryFor("so-far", "?time=last-5"), "");
});

test("ticks are round numbers of the axis' unit", () => {
  assert.deepEqual(timeTicks(0, 10), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(timeTicks(-5, 20), [-5, 0, 5, 10, 15, 20]);
  assert.deepEqual(timeTicks(0, 25 * 60).map((tick) => tick / 60), [0, 5, 10, 15, 20, 25]);
  assert.deepEqual(timeTicks(1020, 1320).map((tick) => tick / 60), [17, 18, 19, 20, 21, 22]);
  assert.deepEqual(timeTicks(0, 5 * HOUR).map((tick) => tick / HOUR), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual([60, 301, 3 * HOUR].map((max) => timeUnit(max).name), ["s", "min", "h"]);
  assert.ok(timeTicks(0, 900 * HOUR).length > 1);
});

test("a stretch of an ended run is an axis of its own", () => {
  const view = viewIn("?time=600..900");
  const asked = timeAxis({ last: 3599, planned: HOUR, isLive: false, view });
  assert.deepEqual(asked, { min: 600, max: 900, reached: 900, isLong: true, stretch: [600, 900] });
  assert.equal(queryFor(view, "?x=1"), "?x=1&time=600..900");
});

test("a run under way and what is no stretch are shown from the start", () => {
  assert.equal(axis(22, { view: "600..900" })[1], 25);
  for (const each of ["900..600", "600..604", "600", "a..b", "..", "1..9999999999"]) {
    assert.equal(stretchOf(each), null, each);
    assert.equal(viewIn(`?time=${each}`), "so-far", each);
  }
  assert.deepEqual(stretchOf("-30..60"), [-30, 60]);
});

test("what is chosen becomes whole seconds of the axis, five at least", () => {
  const all = { min: -10, max: 3600 };
  assert.equal(stretchView([599.4, 900.2], all), "599..901");
  assert.equal(stretchView([-160, 140], all), "-10..140");
  assert.equal(stretchView([3599.5, 3750], all), "3595..3600");
  assert.equal(stretchView([700.1, 700.9], all), "700..705");
});

import assert from "node:assert/strict";
import test from "node:test";

import { errorKinds, lineOf, loneOf, mergePoints, parted, pointsOf } from "../../static/js/live/points.js";

const at = (second, more = {}) => ({ second, ok: 10, failed: 0, errors: {}, ...more });
const seconds = (points) => points.map((point) => point.second);

test("fresh points follow the known ones", () => {
  assert.deepEqual(seconds(mergePoints([at(0), at(1)], [at(2), at(3)])), [0, 1, 2, 3]);
});

test("a second that comes twice stands once, as it came last", () => {
  const merged = mergePoints([at(0), at(1, { ok: 5 })], [at(1, { ok: 7 }), at(2)]);
  assert.deepEqual(seconds(merged), [0, 1, 2]);
  assert.equal(merged[1].ok, 7);
});

test("late seconds find their place, the warm-up before zero", () => {
  assert.deepEqual(seconds(mergePoints([at(-1), at(2)], [at(1), at(0)])), [-1, 0, 1, 2]);
});

test("nothing new leaves the same array", () => {
  const known = [at(0)];
  assert.equal(mergePoints(known, []), known);
});

test("a gap breaks the line", () => {
  const line = lineOf([at(0, { p50_ms: 3 }), at(4, { p50_ms: 5, gap: true })], (point) => point.p50_ms);
  assert.deepEqual(line, [{ x: 0, y: 3 }, { x: 1, y: null }, { x: 4, y: 5 }]);
});

test("seconds that the server left out of a long run break no line", () => {
  const line = lineOf([at(0, { p50_ms: 3 }), at(4, { p50_ms: 5, gap: false })], (point) => point.p50_ms);
  assert.deepEqual(line, [{ x: 0, y: 3 }, { x: 4, y: 5 }]);
});

const drawnAs = (ys) => ys.map((y, x) => ({ x, y }));

test("a second without neighbours is told from those of a line", () => {
  assert.deepEqual(loneOf(drawnAs([5, null, 6, 7, null, null, 8])), [0, 6]);
  assert.deepEqual(loneOf(drawnAs([null, null])), []);
});

test("a line is parted where it becomes weak: a piece is as weak as its end", () => {
  const line = drawnAs([5, 6, 2, 7, 8]);
  const { firm, weak } = parted(line, ({ y }) => y < 5);
  assert.deepEqual(firm, [line[0], line[1], { x: 2, y: null }, line[2], line[3], line[4]]);
  assert.deepEqual(weak, [line[1], line[2]]);
});

test("a parted line keeps its gaps and its single seconds", () => {
  const line = drawnAs([5, 6, null, 7, null, 1, 2]);
  const { firm, weak } = parted(line, ({ y }) => y < 5);
  assert.deepEqual(firm, [line[0], line[1], { x: 2, y: null }, line[3]]);
  assert.deepEqual(weak, [line[5], line[6]]);
});

test("a line that is nowhere weak stays as it is", () => {
  const line = drawnAs([5, 6, 7]);
  assert.deepEqual(parted(line, () => false), { firm: line, weak: [] });
});

// A run that is followed from its first second, as the page does it.
function followed(length, pointAt) {
  let points = [];
  for (let second = 0; second < length; second += 1) points = mergePoints(points, [pointAt(second)]);
  return points;
}

test("of a long run a page keeps no more points than the server sends, evenly, and the last minutes whole", () => {
  const points = followed(3600, (second) => at(second, { p50_ms: 5, p99_ms: 9, completed: 10, open: 3 }));
  assert.ok(points.length <= 1200);
  assert.deepEqual(seconds(points).slice(-300), Array.from({ length: 300 }, (_, i) => 3300 + i));
  const steps = seconds(points).map((second, i, all) => second - (all[i - 1] ?? -1));
  assert.ok(Math.max(...steps) <= 2 * Math.ceil(3600 / 100));
});

test("the extremes of a long run stay, however long ago they were", () => {
  const points = followed(3600, (second) => at(second, {
    p50_ms: second === 40 ? 1 : 5, p99_ms: second === 500 ? 900 : 9, failed: second === 1700 ? 3 : 0,
  }));
  const known = new Set(seconds(points));
  assert.deepEqual([40, 500, 1700].map((second) => known.has(second)), [true, true, true]);
});

test("a second that is missing among points that go still breaks the line", () => {
  const points = followed(3600, (second) => at(second, { gap: second === 600 }));
  const broken = points.filter((point) => point.gap);
  assert.equal(broken.length, 1);
  assert.ok(broken[0].second >= 600 && broken[0].second < 700);
});

test("the most frequent error comes first", () => {
  const points = [at(0, { errors: { reset: 1, tls_verify: 4 } }), at(1, { errors: { reset: 2 } })];
  assert.deepEqual(errorKinds(points), ["tls_verify", "reset"]);
});

test("columns become a point for each second", () => {
  const columns = { second: [0, 1], ok: [5, 7], response_text: ["p50 3.00", "p50 4.00"] };
  assert.deepEqual(pointsOf(columns), [
    { second: 0, ok: 5, response_text: "p50 3.00" },
    { second: 1, ok: 7, response_text: "p50 4.00" },
  ]);
});

test("without columns there are no points", () => {
  assert.deepEqual(pointsOf(null), []);
});

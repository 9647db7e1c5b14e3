import assert from "node:assert/strict";
import { test } from "node:test";

import { layOut } from "../../static/js/charts/waterfall.js";

const PARTS = [
  { name: "connect", start: 0, duration: 1000, text: "1.00" },
  { name: "wait", start: 1000, duration: 3000, text: "3.00" },
];

test("each bar begins where the one before ends", () => {
  const [connect, wait] = layOut(PARTS, 640).bars;
  assert.ok(Math.abs(connect.x + connect.width - wait.x) < 1e-9);
  assert.ok(Math.abs(wait.width - 3 * connect.width) < 1e-9);
  assert.ok(wait.y > connect.y);
});

test("a phase that took no time still shows", () => {
  const [bar] = layOut([{ name: "dns", start: 0, duration: 0, text: "0" }], 640).bars;
  assert.equal(bar.width, 1);
});

test("ticks stay within the frame on a narrow screen", () => {
  const { ticks } = layOut(PARTS, 358);
  assert.ok(ticks.every(({ x }) => x >= 0 && x <= 358));
});

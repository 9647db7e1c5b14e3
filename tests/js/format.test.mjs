import assert from "node:assert/strict";
import { test } from "node:test";

import { counted, figure, plain, roundTicks } from "../../static/js/lib/format.js";

test("a figure has three significant digits and commas for thousands", () => {
  assert.equal(figure(12.345), "12.3");
  assert.equal(figure(1234.5), "1,235");
  assert.equal(figure(0.01234), "0.0123");
  assert.equal(figure(0), "0");
  assert.equal(figure(null), "–");
});

test("minus is a true minus", () => {
  assert.equal(figure(-4.5), "−4.50");
});

test("a plain number has no zeros at its end", () => {
  assert.equal(plain(10), "10");
  assert.equal(plain(59.995), "59.995");
  assert.equal(plain(-5), "−5");
  assert.equal(plain(0.1 + 0.2), "0.3");
});

test("a number agrees with its noun", () => {
  assert.equal(counted(1, "requests"), "1 request");
  assert.equal(counted(1, "replies"), "1 reply");
  assert.equal(counted(0, "errors"), "0 errors");
  assert.equal(counted(1234567, "connections"), "1,234,567 connections");
});

test("ticks are round and reach the highest value", () => {
  assert.deepEqual(roundTicks(10), [0, 5, 10]);
  assert.deepEqual(roundTicks(0.9), [0, 0.5, 1]);
  assert.ok(roundTicks(347).at(-1) >= 347);
  assert.deepEqual(roundTicks(0), [0, 1]);
});

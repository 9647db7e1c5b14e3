import assert from "node:assert/strict";
import { test } from "node:test";

import { curveSentence, estimate } from "../../static/js/lib/load_words.js";

test("the sentence names the distance, the first and the last start", () => {
  const sentence = curveSentence({ model: "over", requests: 100, over_s: 10 });
  assert.equal(sentence, "One request every 100 ms; the first at 0 s, the last at 9.9 s.");
});

test("where the target decides, the sentence says so", () => {
  const sentence = curveSentence({ model: "closed", connections: 50, requests: 1000 });
  assert.match(sentence, /50 connections send/);
  assert.match(sentence, /up to the target/);
});

test("the estimate counts the warm-up into the duration only", () => {
  const load = { model: "over", requests: 100, over_s: 10 };
  assert.deepEqual(estimate(load, 5), { duration: "15 s", requests: "100", percentile: "p90" });
  assert.equal(estimate({ model: "sequential", duration_s: 5 }, 0).requests, "–");
});

test("random arrivals are said to be random", () => {
  const load = { model: "open", rate_per_s: 10, requests: 100, distribution: "exponential" };
  assert.match(curveSentence(load), /100 requests at random instants within 10 s, 100 ms apart/);
  const uniform = { model: "open", requests: 9, distribution: "uniform", uniform_min_s: 1, uniform_max_s: 3 };
  assert.match(curveSentence(uniform), /each 1 s to 3 s after the one before; about 18 s/);
});

test("a window is told by its marks", () => {
  const words = curveSentence({ model: "window", low: 250, high: 500, requests: 9 });
  assert.match(words, /500 connections at a time, .* fewer than 250 are being opened, until 9/);
});

test("numbers of each injector are said to be so", () => {
  const sequential = { model: "sequential", requests: 5000, per_injector: true };
  assert.equal(estimate(sequential, 0).requests, "5,000 each");
  assert.match(curveSentence(sequential), /^Each injector: one connection sends, .* until 5,000 requests are done/);
});

test("sessions and connections that arrive are counted as such", () => {
  const load = { model: "over", requests: 100, over_s: 10, arrival_unit: "session", calls: 5 };
  assert.match(curveSentence(load), /^One session every 100 ms/);
  assert.equal(estimate(load, 0).requests, "500");
  const random = { ...load, model: "open", rate_per_s: 10, distribution: "exponential", arrival_unit: "connection" };
  assert.match(curveSentence(random), /^100 connections at random instants/);
  const closed = { model: "closed", connections: 5, requests: 10, arrival_unit: "session" };
  assert.match(curveSentence(closed), /until 10 requests are done/);
});

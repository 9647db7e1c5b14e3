import assert from "node:assert/strict";
import test from "node:test";

import { dateText, dateTicks, mergedLabels, timeSpan } from "../../static/js/charts/dates.js";

const DAY = 86400;
const at = (text) => Date.parse(text) / 1000;

test("ticks are round days or Mondays, not more than have room", () => {
  const days = dateTicks(at("2026-11-01"), at("2026-11-05"), 10).map((tick) => tick / DAY);
  assert.ok(days.every(Number.isInteger) && days.length === 5);
  const [first, second] = dateTicks(at("2026-11-01"), at("2027-03-01"), 6);
  assert.equal(new Date(first * 1000).getUTCDay(), 1);
  assert.equal(second - first, 28 * DAY);
  assert.ok(dateTicks(at("2020-01-01"), at("2026-01-01"), 8).length <= 8);
});

test("a date has its year where there are several, and is an hour within a day", () => {
  const [first, last] = [at("2026-11-01"), at("2026-11-20")];
  assert.equal(dateText(first, first, last), "1 Nov");
  assert.equal(dateText(first, first, at("2028-01-01")), "1 Nov 2026");
  assert.equal(dateText(at("2026-11-01T06:00Z"), first, first + DAY), "06:00");
});

test("one campaign has an axis, too", () => {
  const { min, max } = timeSpan([at("2026-11-01")]);
  assert.ok(min < max);
});

test("campaigns of a few minutes fill the axis, which has the minutes", () => {
  const [first, last] = [at("2026-11-28T01:53Z"), at("2026-11-28T01:58Z")];
  const { min, max } = timeSpan([first, last]);
  assert.ok((last - first) / (max - min) > 0.8);
  const texts = dateTicks(min, max, 6).map((tick) => dateText(tick, min, max));
  assert.deepEqual(texts, ["01:53", "01:54", "01:55", "01:56", "01:57", "01:58"]);
});

test("labels that are too close become one with their number", () => {
  const events = [{ x: 10, text: "1.4.2" }, { x: 30, text: "1.4.3" }, { x: 200, text: "1.5" }];
  const texts = mergedLabels(events, 48, "deploys").map((label) => label.text);
  assert.deepEqual(texts, ["2 deploys", "1.5"]);
});

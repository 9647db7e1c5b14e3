// A run over time: requests, response time, errors and the target's machine, one above another on the
// same seconds. The page has titles and axes; the series are made of the points, second by second.

import { hatchSteps, machineSeries, machineTexts, seriesOf } from "./machine.js";
import { chartGroup } from "./chart.js";
import { stretches } from "./stretches.js";
import { stretchView, timeAxis } from "./time_axis.js";
import { timeSwitch } from "./time_switch.js";
import { errorKinds, lineOf } from "../live/points.js";

const PERCENTILES = [
  { name: "p99", key: "p99_ms", nth: 3, width: 2.2, dash: [] },
  { name: "p95", key: "p95_ms", nth: 2, width: 1.6, dash: [7, 3] },
  { name: "p50", key: "p50_ms", nth: 1, width: 1.5, dash: [] },
];
// Times of failed replies: red, and never part of the lines above.
const OF_FAILED = [
  { name: "failed p50", key: "failed_p50_ms", dash: [] },
  { name: "failed p95", key: "failed_p95_ms", dash: [5, 3] },
];
const MOST_KINDS = 4;
const AROUND_S = 150; // of a second that is looked at closely, on both sides

// `element` is the group; `firstPlan` is {seconds, wholeSeconds, warmUp, intended, intendedText, scheme,
// words: {kind: sentence}, limits: [{panel, label, value, isBroken}], details: the address of every
// second, once it has ended}. `chose()` after another stretch of the run was chosen.
export function overTime(element, firstPlan, chose = () => {}) {
  const { panels: titles } = JSON.parse(element.querySelector(":scope > script").textContent);
  const group = chartGroup(element.dataset.charts, { canChoose: () => Boolean(plan.details), range: look, enter: lookAround });
  const choice = timeSwitch(element, () => {
    draw();
    if (plan.details) chose();
  });
  const details = stretches(draw);
  let plan = firstPlan;
  let told = [];
  let machineTold = [];
  let isUnderWay = false;
  let axis = {};

  // `nextPlan` where another run is shown from now on; `seconds` are those of the target's machine.
  function show(next, isLive = false, nextPlan = plan, seconds = null) {
    told = next;
    isUnderWay = isLive;
    plan = nextPlan;
    if (seconds) machineTold = seconds;
    draw();
  }

  function draw() {
    axis = axisOf(told, plan, isUnderWay, choice.view());
    choice.offer(axis, isUnderWay);
    const whole = details.of(plan.details, axis.stretch);
    const points = (whole?.points ?? told).filter(isShown);
    const machine = (whole?.machine ?? machineTold).filter(isShown);
    const series = { ...ownSeries(points, plan), ...machineSeries(machine, points) };
    const reads = { ...ownTexts(points), ...machineTexts(machine, points) };
    const places = { x: points.map(({ second }) => second), at: points.map(({ at }) => at) };
    group.show({ places, panels: titles.map((each) => panelOf(each, series[each.key] ?? [], reads[each.key], plan, axis)) });
    sayWords(points, machine);
  }

  const isShown = ({ second }) => second >= axis.min && second < axis.max;

  // A run that goes on is not looked at closely: its points move.
  function look(range) {
    if (plan.details) choice.choose(stretchView(range, axis));
  }

  function lookAround(second) {
    look([second - AROUND_S, second + AROUND_S]);
  }

  function sayWords(points, machine) {
    const of = (key, part) => element.querySelector(`[data-panel="${key}"] ${part}`);
    of("requests", ".chart-name").textContent = plan.nouns[0].toUpperCase() + plan.nouns.slice(1);
    of("machine-processes", ".unit").textContent = `CPU, % of ${machine.some(({ cores }) => cores) ? "all cores" : "a core"}`;
    of("errors", ".key").replaceChildren(...swatches(points, plan));
  }

  return { show };
}

function axisOf(points, plan, isLive, view) {
  const [first, last] = [points[0]?.second, points.at(-1)?.second];
  return timeAxis({ first, last, planned: plan.seconds, warmUp: plan.warmUp, isLive, view });
}

// Warm-up hatched, zero marked, the time to come as wash up to the planned end.
function panelOf(panel, series, reads, plan, axis) {
  const limits = (plan.limits ?? []).filter((each) => each.panel === panel.key && panel.key !== "errors");
  const marks = limits.map(({ label, value, isBroken }) => level(value, label, isBroken ? "bad" : "ink-2", [8, 4]));
  if (panel.key === "requests" && plan.intended) {
    marks.push(level(plan.intended, `intended ${plan.intendedText}`, "ink-3", [4, 3]));
  }
  const bands = [];
  if (axis.reached < axis.max) bands.push({ axis: "x", low: Math.max(axis.reached, axis.min), high: axis.max, look: "wash" });
  if (axis.min < 0) {
    bands.push({ axis: "x", low: axis.min, high: 0, look: "hatch" });
    marks.push({ axis: "x", at: 0, colour: "ink-3" });
  }
  const more = limitWords(panel.key, plan);
  return { ...panel, series, reads, marks, bands, more, x: { ...panel.x, low: axis.min, high: axis.max } };
}

const level = (at, label, colour, dash) => ({ axis: "y", at, label, colour, dash });

// The thresholds of a column: ", threshold p95 < 200 ms (broken)".
function limitWords(key, plan) {
  return (plan.limits ?? [])
    .filter(({ panel }) => panel === key)
    .map(({ label, isBroken }) => `, threshold ${label} (${isBroken ? "broken" : "kept"})`)
    .join("");
}

function ownSeries(points, plan) {
  // What ended in the last part of a second is no count per second: drawn, it would look like an outage.
  const whole = points.filter((point) => point.second < (plan.wholeSeconds ?? Infinity));
  const counts = (key) => [seriesOf(lineOf(whole, (point) => point[key]), "ink")];
  return {
    requests: requestSeries(whole, points),
    response: responseSeries(points, plan),
    open: plan.nouns === "requests" ? [] : counts("open"),
    messages: plan.nouns === "connections" && points.some((point) => point.messages) ? counts("messages") : [],
    errors: errorSeries(points, plan),
  };
}

function ownTexts(points) {
  const texts = (key) => points.map((point) => point[`${key}_text`] ?? "\u2013");
  return Object.fromEntries(["requests", "response", "open", "messages", "errors"].map((key) => [key, texts(key)]));
}

// Completed are ok and failed ones: a line of its own where something failed.
function requestSeries(whole, points) {
  const hasFailed = points.some((point) => point.completed > point.ok);
  const ok = seriesOf(lineOf(whole, (point) => point.ok), "ink", { end: hasFailed ? "ok" : "" });
  if (!hasFailed) return [ok];
  return [ok, seriesOf(lineOf(whole, (point) => point.completed), "ink-3", { width: 1, end: "completed" })];
}

// Dotted where too few responses of a second lie beyond.
function responseSeries(points, plan) {
  const sound = new Map(points.map((point) => [point.second, point.sound]));
  const lines = PERCENTILES.map(({ name, key, nth, width, dash }) => {
    const line = lineOf(points, (point) => (point.ok > 0 ? point[key] : null));
    const weak = line.map(({ x }) => sound.get(x) < nth);
    return seriesOf(line, `${plan.scheme}-${name}`, { end: name, width, dash, weak });
  });
  if (!points.some((point) => point.failed_p50_ms > 0)) return lines;
  return [...lines, ...OF_FAILED.map(({ name, key, dash }) =>
    seriesOf(lineOf(points, (point) => point[key]), "bad", { end: name, width: 1.3, dash }))];
}

function errorSeries(points, plan) {
  const kinds = errorKinds(points);
  const shares = (plan.limits ?? []).filter((each) => each.panel === "errors");
  if (!kinds.length && !shares.some(({ isBroken }) => isBroken)) return [];
  const single = kinds.slice(0, MOST_KINDS).map((kind, i) => bars(points, i, (point) => point.errors[kind] || 0));
  const rest = kinds.slice(MOST_KINDS);
  const others = rest.length
    ? [bars(points, MOST_KINDS, (point) => rest.reduce((n, kind) => n + (point.errors[kind] || 0), 0))]
    : [];
  // Errors below a share: so many of each second's requests may fail.
  const limits = shares.map(({ label, value, isBroken }) =>
    seriesOf(lineOf(points, (point) => value * (point.ok + point.failed)), isBroken ? "bad" : "ink-2", { dash: [8, 4], end: label }));
  return [...single, ...others, ...limits];
}

function bars(points, nth, value) {
  return {
    look: "bars",
    style: { token: "bad" },
    hatched: hatchSteps[nth],
    stack: "errors",
    x: points.map(({ second }) => second + 0.5),
    y: points.map(value),
  };
}

function swatches(points, plan) {
  const kinds = errorKinds(points);
  const entries = kinds.slice(0, MOST_KINDS).map((kind) => plan.words[kind] || kind);
  if (kinds.length > MOST_KINDS) entries.push("other");
  return entries.map((text, i) => {
    const entry = document.createElement("span");
    entry.className = `swatch swatch-error-${i}`;
    entry.textContent = text;
    return entry;
  });
}

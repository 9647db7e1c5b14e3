// A run over time: requests, response time and errors, one above another on the same seconds.
// One crosshair runs through all panels; their title lines say what it reads.

import { AXIS_WIDTH, hatch } from "./marks.js";
import { logRange, logTicks, roundUp, tickText } from "./axes.js";
import { onDrag } from "./dragging.js";
import { machinePanels } from "./machine.js";
import { baseOptions, countConfig, fromZero, line, panel, wholeOf } from "./panels.js";
import { asTable, onArrowKeys } from "./reading.js";
import { stretches } from "./stretches.js";
import { stretchView, timeAxis } from "./time_axis.js";
import { timeSwitch } from "./time_switch.js";
import { cssToken, onThemeChange } from "./theme.js";
import { drawInTurn } from "./turns.js";
import { errorKinds, lineOf, parted } from "../live/points.js";

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
// The heads of the table's columns.
const TITLES = {
  requests: "ok and failed a second",
  response: "response time, ms",
  open: "open connections",
  messages: "messages a second",
  errors: "errors a second",
};

// `frame` holds [data-panel] elements with a canvas each; `plan` is
// {seconds, wholeSeconds, warmUp, intended, intendedText, scheme, words: {kind: sentence},
// limits: [{panel, label, value, isBroken}], details: the address of every second, once it has ended}.
export function overTime(frame, firstPlan) {
  let plan = firstPlan;
  const panels = {
    requests: panel(frame, "requests", requestsConfig()),
    response: panel(frame, "response", responseConfig()),
    open: panel(frame, "open", countConfig((point) => `${point.open_text} at the end`, (point) => point.open)),
    messages: panel(frame, "messages", countConfig((point) => point.messages_text, (point) => point.messages)),
    errors: panel(frame, "errors", errorsConfig(true)),
  };
  const machine = machinePanels(frame);
  const all = [...Object.values(panels), ...machine.panels];
  let told = [];
  let machineTold = [];
  let isUnderWay = false;
  let axis = {};
  let points = [];
  let at = null;
  const choice = timeSwitch(frame, draw);
  const details = stretches(draw);
  const tellTable = asTable(frame, () => tableOf(points, plan, machine));

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
    points = (whole?.points ?? told).filter(({ second }) => second >= axis.min && second < axis.max);
    machine.take(whole?.machine ?? machineTold);
    showExchange(panels, points, plan);
    machine.look(axis, points);
    for (const each of all.filter(isShown)) drawInTurn(each.element, () => drawPanel(each));
    drawInTurn(frame.querySelector("[data-chart-table]"), tellTable);
    say();
  }

  function drawPanel(each) {
    if (!each.isMade()) onDrag(each.chart, { show: wash, choose: look, click() {} });
    each.set(each, points, plan, axis);
    const { scales, plugins } = each.chart.options;
    Object.assign(scales.x, { min: axis.min, max: axis.max });
    plugins.timeGround.reached = axis.reached;
    plugins.crosshair.at = placeOf(at);
    each.chart.update("none");
  }

  // The second, or null where the axis does not show it any more.
  function placeOf(second) {
    return points.some((point) => point.second === second) ? second : null;
  }

  function say() {
    const point = points.find(({ second }) => second === at);
    for (const each of all.filter(isShown)) {
      const row = each.isOfMachine ? point && machine.at(at) : point;
      each.readout.textContent = row ? `at ${row.at}  ${each.words(row, plan)}` : "";
    }
  }

  function read(second) {
    at = second;
    say();
    for (const { chart } of all.filter((each) => isShown(each) && each.isMade())) {
      chart.options.plugins.crosshair.at = placeOf(at);
      chart.update("none");
    }
  }

  function wash(range) {
    if (!plan.details) return;
    for (const { chart } of all.filter((each) => isShown(each) && each.isMade())) {
      chart.options.plugins.chosenRange.range = range;
      chart.update("none");
    }
  }

  // A run that goes on is not looked at closely: its points move.
  function look(range) {
    if (plan.details) choice.choose(stretchView(range, axis));
  }

  frame.addEventListener("keydown", (event) => {
    if (event.target === frame && event.key === "Enter" && at !== null) look([at - AROUND_S, at + AROUND_S]);
  });
  listen(frame, all, () => points, () => at, read);
  onThemeChange(draw);
  return { show };
}

const isShown = ({ element }) => !element.hidden;

function requestsConfig() {
  const words = (point, plan) =>
    point.requests_text + (plan.intendedText && `, intended ${plan.intendedText}`);
  return { options: baseOptions(false, fromZero), words, set: setRequests };
}

function responseConfig() {
  const options = baseOptions(false, {
    type: "logarithmic",
    afterBuildTicks(scale) {
      scale.ticks = logTicks(scale.min, scale.max).map((value) => ({ value }));
    },
    ticks: { callback: tickText },
  });
  return { options, words: (point) => point.response_text, set: setResponse };
}

function errorsConfig(isLowest) {
  const options = baseOptions(isLowest, { ...fromZero, stacked: true });
  options.scales.x.stacked = true;
  return { options, words: (point) => point.errors_text, set: setErrors };
}

function axisOf(points, plan, isLive, view) {
  const [first, last] = [points[0]?.second, points.at(-1)?.second];
  return timeAxis({ first, last, planned: plan.seconds, warmUp: plan.warmUp, isLive, view });
}

// Completed are ok and failed ones: a line of its own where something failed.
function setRequests({ chart, element }, points, plan, axis) {
  const whole = wholeOf(points, plan);
  const ok = lineOf(whole, (point) => point.ok);
  const completed = lineOf(whole, (point) => point.completed);
  const hasFailed = points.some((point) => point.completed > point.ok);
  const datasets = [line(ok, "ink", { borderWidth: 1.6 })];
  if (hasFailed) datasets.push(line(completed, "ink-3", { borderWidth: 1 }));
  element.querySelector("[data-key-completed]").hidden = !hasFailed;
  const intended = plan.intended
    ? [axis.min, axis.max].map((x) => ({ x, y: plan.intended }))
    : [];
  if (intended.length) {
    datasets.push(line(intended, "ink-3", { borderDash: [4, 3], borderWidth: 1.2 }));
  }
  const limits = limitLines("requests", plan, axis);
  const drawn = [...completed, ...intended, ...limits.flatMap((each) => each.data)];
  const top = Math.max(...drawn.map((each) => each.y || 0), 1);
  chart.options.scales.y.max = roundUp(top * 1.08);
  chart.data.datasets = [...datasets, ...limits];
}

// The thresholds of a panel: level lines with their rules, red where they are broken.
function limitLines(name, plan, axis) {
  return (plan.limits ?? []).filter((each) => each.panel === name).map(({ label, value, isBroken }) => {
    const data = [axis.min, axis.max].map((x) => ({ x, y: value }));
    return limitLine(data, label, isBroken);
  });
}

function limitLine(data, limitLabel, isBroken) {
  const token = isBroken ? "bad" : "ink-2";
  return { ...line(data, token, { borderDash: [8, 4], borderWidth: 1.2 }), limitLabel, labelToken: token };
}

function setResponse({ chart }, points, plan, axis) {
  const limits = limitLines("response", plan, axis);
  chart.data.datasets = [...percentileLines(points, plan), ...failedReplies(points), ...limits];
  const values = points
    .flatMap((point) => [point.p50_ms, point.p99_ms, point.failed_p50_ms, point.failed_p95_ms])
    .concat(limits.map((each) => each.data[0].y))
    .filter((each) => each > 0);
  Object.assign(chart.options.scales.y, logRange(values));
}

// Dotted where too few responses of a second lie beyond: that part is a line of its own.
function percentileLines(points, plan) {
  const sound = new Map(points.map((point) => [point.second, point.sound]));
  return PERCENTILES.flatMap(({ name, key, nth, width, dash }) => {
    const whole = lineOf(points, (point) => (point.ok > 0 ? point[key] : null));
    const end = whole.findLast(({ y }) => y !== null);
    const { firm, weak } = parted(whole, ({ x }) => sound.get(x) < nth);
    return [[firm, dash], [weak, [1, 3]]].filter(([data]) => data.length).map(([data, borderDash]) =>
      line(data, `${plan.scheme}-${name}`, {
        endLabel: data.at(-1) === end ? name : null,
        borderWidth: width,
        borderDash,
      }));
  });
}

function failedReplies(points) {
  if (!points.some((point) => point.failed_p50_ms > 0)) return [];
  return OF_FAILED.map(({ name, key, dash }) =>
    line(lineOf(points, (point) => point[key]), "bad", { endLabel: name, borderWidth: 1.3, borderDash: dash }));
}

// What only WebSockets have; runs of HTTP do without these panels.
function showExchange({ requests, open, messages }, points, plan) {
  requests.element.querySelector("[data-noun]").textContent = plan.isExchange ? "Connections" : "Requests";
  open.element.hidden = !plan.isExchange;
  messages.element.hidden = !plan.isExchange || !points.some((point) => point.messages);
}

function setErrors({ chart, element }, points, plan) {
  const kinds = errorKinds(points);
  const shown = kinds.slice(0, MOST_KINDS);
  const datasets = shown.map((kind, i) => bars(chart, points, i, (point) => point.errors[kind] || 0));
  if (kinds.length > MOST_KINDS) {
    const rest = kinds.slice(MOST_KINDS);
    datasets.push(bars(chart, points, MOST_KINDS, (point) =>
      rest.reduce((n, kind) => n + (point.errors[kind] || 0), 0)));
  }
  const limits = shareLines(points, plan);
  chart.data.datasets = [...datasets, ...limits];
  const allowed = limits.flatMap((each) => each.data).map((each) => each.y || 0);
  const top = Math.max(...points.map((point) => point.failed), ...allowed, 0);
  chart.options.scales.y.max = top ? roundUp(top * 1.05) : 1;
  chart.options.scales.y.ticks.stepSize = top && top < 4 ? 1 : undefined;
  writeKey(element.querySelector(".key"), shown, kinds.length > MOST_KINDS, plan);
}

// Errors below a share: so many of each second's requests may fail.
function shareLines(points, plan) {
  return (plan.limits ?? []).filter((each) => each.panel === "errors").map(({ label, value, isBroken }) => {
    const data = lineOf(points, (point) => value * (point.ok + point.failed));
    return { ...limitLine(data, label, isBroken), type: "line", stack: label, order: -1 };
  });
}

const HATCH_STEPS = [0, 5, 9, 3, 13];

function bars(chart, points, nth, value) {
  const fill = nth === 0 ? cssToken("bad") : hatch(chart.ctx, "bad", { step: HATCH_STEPS[nth], ground: "paper" });
  return {
    type: "bar",
    data: points.map((point) => ({ x: point.second + 0.5, y: value(point) })),
    backgroundColor: fill,
    borderColor: cssToken("bad"),
    borderWidth: nth ? 1 : 0,
    barThickness: points.length > 300 ? "flex" : undefined,
    barPercentage: 1,
    categoryPercentage: 0.9,
    stack: "errors",
  };
}

function writeKey(key, kinds, hasRest, plan) {
  const entries = kinds.map((kind) => plan.words[kind] || kind);
  if (hasRest) entries.push("other");
  key.replaceChildren(
    ...entries.map((text, i) => {
      const entry = document.createElement("span");
      entry.className = `swatch swatch-error-${i}`;
      entry.textContent = text;
      return entry;
    }),
  );
}

// Pointer, touch and arrow keys move the crosshair; leaving or Escape takes it away.
function listen(frame, panels, points, at, read) {
  for (const each of panels) {
    const { canvas } = each;
    canvas.addEventListener("pointermove", (event) => read(secondUnder(each, event, points())));
    canvas.addEventListener("pointerdown", (event) => read(secondUnder(each, event, points())));
    canvas.addEventListener("pointerleave", () => read(null));
  }
  onArrowKeys(frame, () => points().map((point) => point.second), at, read);
}

function secondUnder(panel, event, points) {
  if (!panel.isMade()) return null;
  const { chart, canvas } = panel;
  const x = event.clientX - canvas.getBoundingClientRect().left;
  if (x < AXIS_WIDTH - 4) return null;
  const value = chart.scales.x.getValueForPixel(x);
  return points.reduce(
    (best, { second }) => (best === null || Math.abs(second - value) < Math.abs(best - value) ? second : best),
    null,
  );
}

// The thresholds of a column: ", threshold p95 < 200 ms (broken)".
function limitWords(key, plan) {
  return (plan.limits ?? [])
    .filter(({ panel: name }) => name === key)
    .map(({ label, isBroken }) => `, threshold ${label} (${isBroken ? "broken" : "kept"})`)
    .join("");
}

// What the crosshair says, for every second that is shown.
function tableOf(points, plan, machine) {
  const columns = ["requests", "response", ...(plan.isExchange ? ["open", "messages"] : []), "errors"];
  return {
    head: ["second", ...columns.map((key) => TITLES[key] + limitWords(key, plan)), ...machine.titles()],
    rows: points.map((point) => [
      point.at,
      ...columns.map((key) => point[`${key}_text`] ?? "\u2013"),
      ...machine.texts(point.second),
    ]),
  };
}

// A test over campaigns: its metric with intervals and levels, percentiles and errors, one above
// another on one axis of time; one crosshair runs through all panels.

import { AXIS_WIDTH, PLAIN, crosshair, endLabels, fixWidth, framed } from "./marks.js";
import { roundUp, tickText } from "./axes.js";
import { campaignUnder, dateText, dateTicks, daysWithin, neighbour, rangeAround, timeSpan } from "./campaign_axis.js";
import { chosenRange, onDrag } from "./dragging.js";
import { ground, headHeight, whiskers } from "./history_ground.js";
import { asTable } from "./reading.js";
import { cssToken, onThemeChange } from "./theme.js";

const PERCENTILES = [
  { name: "p99", width: 2.2, dash: [] },
  { name: "p95", width: 1.6, dash: [7, 3] },
  { name: "p50", width: 1.5, dash: [] },
];
const LEAST_ERRORS = 0.5; // percent at the top of their axis: a few in a million fill no panel

// `frame` holds [data-panel] elements with a canvas each; `history` is what views/history_chart.py
// makes: columns of numbers and of texts with a mark in each row, changes, levels, lanes, and perhaps
// a reference with marks of its own. `choose({since, until})` when days are chosen.
export function testHistory(frame, history, choose) {
  const { time: times, reference } = history;
  const shared = { ...history, span: timeSpan(times) };
  const panels = {
    value: panel(frame, "value", shared, false, [ground, whiskers]),
    percentiles: panel(frame, "percentiles", shared, false, [ground]),
    errors: panel(frame, "errors", shared, !reference, [ground]),
    ...(reference && { reference: panel(frame, "reference", { ...shared, ...reference }, true, [ground, whiskers]) }),
  };
  const all = Object.values(panels);
  let at = null;

  function draw() {
    setValue(panels.value, history);
    setPercentiles(panels.percentiles, history);
    setErrors(panels.errors, history);
    if (reference) setReference(panels.reference, history, panels.value.chart.options.scales.y);
    read(at);
  }

  function read(index) {
    at = index;
    for (const { name, chart, readout } of all) {
      chart.options.plugins.crosshair.at = index === null ? null : times[index];
      readout.textContent = index === null ? "" : wordsOf(history, name, index);
      chart.update("none");
    }
  }

  for (const { chart } of all) {
    const under = (event) => campaignUnder(chart.scales.x, xOf(chart, event), times);
    chart.canvas.addEventListener("pointermove", (event) => read(under(event)));
    chart.canvas.addEventListener("pointerleave", () => read(null));
    onDrag(chart, { show, choose: chosen, click: (event) => open(under(event)) });
  }
  asTable(frame, () => tableOf(history, frame.dataset.history));

  function show(range) {
    for (const { chart: each } of all) {
      each.options.plugins.chosenRange.range = range;
      each.update("none");
    }
  }

  function chosen(range) {
    const days = daysWithin(times, history.days, range);
    if (days) choose(days);
  }

  frame.addEventListener("keydown", (event) => {
    if (event.target !== frame) return;
    if (event.key === "Escape") read(null);
    if (event.key === "Enter") open(at);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const places = event.shiftKey ? history.changes.map((change) => change.index) : null;
    read(neighbour(at, step, times.length, places));
  });
  function open(index) {
    if (index !== null) window.location.assign(history.link[index]);
  }
  onThemeChange(draw);
  draw();
}

function wordsOf(history, name, index) {
  const { reference } = history;
  if (name === "reference") {
    const nearest = nearestTo(reference.time, history.time[index]);
    return `${reference.at[nearest]}  ${reference.text[nearest]}`;
  }
  const text =
    name === "percentiles"
      ? ["p50", "p95", "p99"].map((each) => `${each} ${history[`${each}Text`][index]}`).join("  ")
      : history[`${name}Text`][index];
  return `${history.at[index]}  ${text}`;
}

function nearestTo(times, time) {
  return times.reduce((best, each, i) => (Math.abs(each - time) < Math.abs(times[best] - time) ? i : best), 0);
}

// The newest first.
function tableOf(history, metric) {
  const columns = ["at", "valueText", "p50Text", "p95Text", "p99Text", "errorsText"];
  return {
    head: ["Campaigns", `${metric}, ms`, "p50, ms", "p95, ms", "p99, ms", "Errors"],
    rows: history.time.map((_, i) => columns.map((column) => history[column][i])).reverse(),
  };
}

function xOf(chart, event) {
  const x = event.clientX - chart.canvas.getBoundingClientRect().left;
  return x < AXIS_WIDTH - 4 ? null : x;
}

function panel(frame, name, history, isLowest, grounds) {
  const element = frame.querySelector(`[data-panel="${name}"]`);
  const chart = new window.Chart(element.querySelector("canvas"), {
    type: "line",
    data: { datasets: [] },
    options: options(history, isLowest, name === "value"),
    plugins: [chosenRange, ...grounds, endLabels, crosshair],
  });
  return { name, element, chart, readout: element.querySelector(".readout") };
}

function options({ span, time: times, low, high, changes, lanes }, isLowest, hasLabels) {
  return {
    ...framed(),
    layout: { padding: { right: 64, top: hasLabels ? headHeight(lanes) : 6 } },
    parsing: false,
    normalized: true,
    events: [],
    plugins: {
      crosshair: { at: null },
      chosenRange: { range: null },
      ground: { changes, lanes, hasLabels },
      whiskers: { times, low, high },
    },
    scales: {
      x: {
        type: "linear",
        ...span,
        grid: { display: false },
        border: { display: false },
        afterBuildTicks(scale) {
          scale.ticks = dateTicks(span.min, span.max, scale.width / 90).map((value) => ({ value }));
        },
        ticks: {
          display: isLowest,
          maxRotation: 0,
          autoSkip: false,
          callback: (seconds) => dateText(seconds, span.min, span.max),
        },
      },
      y: {
        border: { display: false },
        afterFit: fixWidth,
        grid: { color: () => cssToken("grid") },
        ticks: { maxTicksLimit: 5, callback: tickText },
      },
    },
  };
}

function setValue({ chart, element }, history) {
  const range = rangeAround([...history.value, ...history.low, ...history.high, ...history.levels.map((level) => level.value)]);
  Object.assign(chart.options.scales.y, range);
  element.querySelector("[data-axis]").textContent = range.min > 0 ? `axis from ${tickText(range.min)}` : "from 0";
  const odd = new Set(history.isOdd);
  const colour = cssToken(history.scheme);
  const radius = Math.min(3.5, Math.max(1.5, roomOf(chart, history) / 2.5));
  const isHollow = PLAIN.has(history.scheme);
  chart.data.datasets = [
    ...history.levels.map(levelOf),
    {
      data: line(history, history.value),
      showLine: false,
      pointRadius: radius,
      pointBorderWidth: 1.5,
      pointBorderColor: history.value.map((_, i) => (odd.has(i) ? cssToken("ink-3") : colour)),
      pointBackgroundColor: history.value.map((_, i) => (odd.has(i) || isHollow ? cssToken("paper") : colour)),
    },
    // At the foot: what does not count has no place on the axis.
    footMarks(history, (i) => history.isAside[i], range.min, "crossRot", "bad"),
  ];
}

// The same range in percent as the test's own axis has; what lies beyond is a triangle at its edge.
function setReference({ chart }, { reference, levels, value }, own) {
  const share = levelNow(reference.levels, reference.value) / levelNow(levels, value) || 1;
  const { min, max } = Object.assign(chart.options.scales.y, { min: own.min * share, max: own.max * share });
  chart.options.scales.y.ticks.includeBounds = false; // they are no round numbers
  const held = (each) => each && Math.min(max, Math.max(min, each));
  const colour = cssToken("ink-2");
  chart.data.datasets = [
    ...reference.levels.map(levelOf),
    {
      data: line(reference, reference.value.map(held)),
      showLine: false,
      clip: 8,
      pointRadius: 2.5,
      pointStyle: reference.value.map((each) => (each === held(each) ? "circle" : "triangle")),
      pointBorderColor: colour,
      pointBackgroundColor: colour,
    },
  ];
}

// The newest level; without changes the median.
function levelNow(levels, values) {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  return levels.at(-1)?.value ?? sorted[Math.floor(sorted.length / 2)] ?? 0;
}

// The pixels between two marks, of which one in ten pairs has less.
function roomOf(chart, { time }) {
  const { min, max } = timeSpan(time);
  const gaps = time.slice(1).map((each, i) => each - time[i]).sort((a, b) => a - b);
  const gap = gaps[Math.floor(gaps.length / 10)] ?? max - min;
  return (gap / (max - min)) * chart.width;
}

function line({ time }, values) {
  return values.map((y, i) => ({ x: time[i], y }));
}

function footMarks(history, isMarked, foot, pointStyle, token) {
  return {
    data: line(history, history.time.map((_, i) => (isMarked(i) ? foot : null))),
    showLine: false,
    clip: 8,
    pointStyle,
    pointRadius: 4,
    pointBorderWidth: 1.8,
    pointBorderColor: cssToken(token),
    pointBackgroundColor: cssToken("paper"),
  };
}

function levelOf({ from, to, value }) {
  return {
    data: [{ x: from, y: value }, { x: to, y: value }],
    borderColor: cssToken("ink"),
    borderWidth: 1.4,
    pointRadius: 0,
  };
}

function setPercentiles({ chart }, history) {
  chart.data.datasets = PERCENTILES.map(({ name, width, dash }) => {
    const colour = cssToken(`${history.scheme}-${name}`);
    return {
      data: line(history, history[name]),
      endLabel: name,
      borderColor: colour,
      backgroundColor: colour,
      borderWidth: width,
      borderDash: dash,
      pointRadius: history[name].map((_, i, all) => (isAlone(all, i) ? 2.5 : 0)),
      spanGaps: false,
    };
  });
  fromZero(chart, [...history.p50, ...history.p95, ...history.p99]);
}

// A campaign without neighbours has no line: it is drawn as a dot.
function isAlone(values, i) {
  return (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
}

// A triangle at the foot: the target was not healthy.
function setErrors({ chart }, history) {
  const width = Math.min(12, Math.max(1, roomOf(chart, history) * 0.6));
  chart.data.datasets = [
    footMarks(history, (i) => !history.isSound[i], 0, "triangle", "warn"),
    {
      type: "bar",
      data: line(history, history.errors),
      backgroundColor: cssToken("bad"),
      barThickness: width,
      minBarLength: 0,
    },
  ];
  fromZero(chart, [LEAST_ERRORS / 1.05, ...history.errors]);
}

function fromZero(chart, values) {
  const top = Math.max(...values.map((value) => value ?? 0));
  Object.assign(chart.options.scales.y, { min: 0, max: top > 0 ? roundUp(top * 1.05) : 1 });
}

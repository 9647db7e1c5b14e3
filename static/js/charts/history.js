// A test over campaigns: its metric with intervals and levels, percentiles and errors, one above
// another on one axis of time; one crosshair runs through all panels.

import { AXIS_WIDTH, PLAIN, crosshair, endLabels, fixWidth, framed } from "./marks.js";
import { roundUp, tickText } from "./axes.js";
import { campaignUnder, dateText, dateTicks, neighbour, rangeAround, timeSpan } from "./campaign_axis.js";
import { ground, headHeight, whiskers } from "./history_ground.js";
import { cssToken, onThemeChange } from "./theme.js";

const PERCENTILES = [
  { name: "p99", width: 2.2, dash: [] },
  { name: "p95", width: 1.6, dash: [7, 3] },
  { name: "p50", width: 1.5, dash: [] },
];
const LEAST_ERRORS = 0.5; // percent at the top of their axis: a few in a million fill no panel

// `frame` holds [data-panel] elements with a canvas each; `history` is what views/history_chart.py
// makes: columns of numbers and of texts with a mark in each row, changes, levels and lanes.
export function testHistory(frame, history) {
  const { time: times } = history;
  const panels = {
    value: panel(frame, "value", history, false, [ground, whiskers]),
    percentiles: panel(frame, "percentiles", history, false, [ground]),
    errors: panel(frame, "errors", history, true, [ground]),
  };
  const all = Object.values(panels);
  let at = null;

  function draw() {
    setValue(panels.value, history);
    setPercentiles(panels.percentiles, history);
    setErrors(panels.errors, history);
    read(at);
  }

  function read(index) {
    at = index;
    for (const { name, chart, readout } of all) {
      chart.options.plugins.crosshair.at = index === null ? null : times[index];
      const text = index === null ? "" : history[`${name}Text`][index];
      readout.textContent = text && `${history.at[index]}  ${text}`;
      chart.update("none");
    }
  }

  for (const { chart } of all) {
    const under = (event) => campaignUnder(chart.scales.x, xOf(chart, event), times);
    chart.canvas.addEventListener("pointermove", (event) => read(under(event)));
    chart.canvas.addEventListener("pointerleave", () => read(null));
    chart.canvas.addEventListener("click", (event) => open(under(event)));
  }
  frame.addEventListener("keydown", (event) => {
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
    plugins: [...grounds, endLabels, crosshair],
  });
  return { name, element, chart, readout: element.querySelector(".readout") };
}

function options({ time: times, low, high, changes, lanes }, isLowest, hasLabels) {
  const span = timeSpan(times);
  return {
    ...framed(),
    layout: { padding: { right: 64, top: hasLabels ? headHeight(lanes) : 6 } },
    parsing: false,
    normalized: true,
    events: [],
    plugins: {
      crosshair: { at: null },
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
    ...history.levels.map((level) => levelOf(level)),
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

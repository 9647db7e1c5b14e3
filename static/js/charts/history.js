// A test over campaigns: its metric with intervals and levels, percentiles and errors, one above
// another. Campaigns are evenly spaced; one crosshair runs through all panels.

import { AXIS_WIDTH, PLAIN, crosshair, endLabels, fixWidth, framed } from "./marks.js";
import { roundUp, tickText } from "./axes.js";
import { campaignUnder, dateTicks, neighbour, rangeAround } from "./campaign_axis.js";
import { cssToken, onThemeChange } from "./theme.js";

const PERCENTILES = [
  { name: "p99", width: 2.2, dash: [] },
  { name: "p95", width: 1.6, dash: [7, 3] },
  { name: "p50", width: 1.5, dash: [] },
];
const LEAST_ERRORS = 0.5; // percent at the top of their axis: a few in a million fill no panel

// `frame` holds [data-panel] elements with a canvas each; `history` is what views/history_chart.py
// makes: columns of numbers and of texts, changes, levels and marks.
export function testHistory(frame, history) {
  const count = history.at.length;
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
      chart.options.plugins.crosshair.at = index;
      const text = index === null ? "" : history[`${name}Text`][index];
      readout.textContent = text && `${history.at[index]}  ${text}`;
      chart.update("none");
    }
  }

  for (const { chart } of all) {
    const under = (event) => campaignUnder(chart.scales.x, xOf(chart, event), count);
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
    read(neighbour(at, step, count, places));
  });
  function open(index) {
    if (index !== null) window.location.assign(history.links[index]);
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

function options(history, isLowest, hasLabels) {
  const last = history.at.length - 1;
  return {
    ...framed(),
    layout: { padding: { right: 64, top: hasLabels ? 22 : 6 } },
    parsing: false,
    normalized: true,
    events: [],
    plugins: {
      crosshair: { at: null },
      ground: { changes: history.changes, marks: history.marks, hasLabels },
      whiskers: { low: history.low, high: history.high },
    },
    scales: {
      x: {
        type: "linear",
        min: -0.5,
        max: last + 0.5,
        grid: { display: false },
        border: { display: false },
        afterBuildTicks(scale) {
          scale.ticks = dateTicks(history.at.length, scale.width / 90).map((value) => ({ value }));
        },
        ticks: { display: isLowest, maxRotation: 0, autoSkip: false, callback: (x) => history.at[x] },
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
  const radius = Math.min(3.5, Math.max(1.5, chart.width / history.at.length / 3));
  const isHollow = PLAIN.has(history.scheme);
  chart.data.datasets = [
    ...history.levels.map((level) => levelOf(level)),
    {
      data: history.value.map((y, x) => ({ x, y })),
      showLine: false,
      pointRadius: radius,
      pointBorderWidth: 1.5,
      pointBorderColor: history.value.map((_, i) => (odd.has(i) ? cssToken("ink-3") : colour)),
      pointBackgroundColor: history.value.map((_, i) => (odd.has(i) || isHollow ? cssToken("paper") : colour)),
    },
    {
      // At the foot: what does not count has no place on the axis.
      data: history.aside.map((y, x) => ({ x, y: y === null ? null : range.min })),
      showLine: false,
      clip: 8,
      pointStyle: "crossRot",
      pointRadius: 4,
      pointBorderWidth: 1.8,
      pointBorderColor: cssToken("bad"),
    },
  ];
}

function levelOf({ from, to, value }) {
  return {
    data: [{ x: from - 0.5, y: value }, { x: to + 0.5, y: value }],
    borderColor: cssToken("ink"),
    borderWidth: 1.4,
    pointRadius: 0,
  };
}

function setPercentiles({ chart }, history) {
  chart.data.datasets = PERCENTILES.map(({ name, width, dash }) => {
    const colour = cssToken(`${history.scheme}-${name}`);
    return {
      data: history[name].map((y, x) => ({ x, y })),
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

function setErrors({ chart }, history) {
  chart.data.datasets = [
    {
      type: "bar",
      data: history.errors.map((y, x) => ({ x, y })),
      backgroundColor: cssToken("bad"),
      maxBarThickness: 12,
      minBarLength: 0,
    },
  ];
  fromZero(chart, [LEAST_ERRORS / 1.05, ...history.errors]);
}

function fromZero(chart, values) {
  const top = Math.max(...values.map((value) => value ?? 0));
  Object.assign(chart.options.scales.y, { min: 0, max: top > 0 ? roundUp(top * 1.05) : 1 });
}

// Where levels change and where plan or environment were changed; the size stands above the line.
const ground = {
  id: "ground",
  beforeDatasetsDraw(chart, _, { changes, marks, hasLabels }) {
    const { ctx, chartArea: area, scales: { x } } = chart;
    ctx.save();
    for (const { from, to } of changes) {
      ctx.fillStyle = cssToken("band");
      const left = x.getPixelForValue(from);
      ctx.fillRect(left, area.top, x.getPixelForValue(to) - left, area.height);
    }
    for (const { index } of marks) vertical(ctx, area, x.getPixelForValue(index - 0.5), "ink-3", [1, 3], 1.2);
    for (const { index } of changes) vertical(ctx, area, x.getPixelForValue(index - 0.5), "warn", [5, 3], 1.6);
    if (hasLabels) labels(ctx, area, changes.map((change) => ({ ...change, x: x.getPixelForValue(change.index - 0.5) })));
    ctx.restore();
  },
};

function vertical(ctx, area, pixel, token, dash, width) {
  ctx.strokeStyle = cssToken(token);
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(Math.round(pixel) + 0.5, area.top);
  ctx.lineTo(Math.round(pixel) + 0.5, area.bottom);
  ctx.stroke();
}

// Newest first; one that would cover a newer one is left out, and is in the list of changes.
function labels(ctx, area, changes) {
  ctx.font = `600 12px ${window.Chart.defaults.font.family}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  let free = Infinity;
  for (const { x, text, word } of [...changes].reverse()) {
    const half = ctx.measureText(text).width / 2;
    if (x + half + 6 > free) continue;
    ctx.fillStyle = cssToken(word ? "warn" : "ink-3");
    ctx.fillText(text, x, area.top - 4);
    free = x - half;
  }
}

// The interval of each campaign behind its mark.
const whiskers = {
  id: "whiskers",
  beforeDatasetsDraw(chart, _, { low, high }) {
    const { ctx, scales: { x, y } } = chart;
    ctx.save();
    ctx.strokeStyle = cssToken("ink-3");
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (const [i, value] of low.entries()) {
      if (value === null) continue;
      const pixel = Math.round(x.getPixelForValue(i)) + 0.5;
      ctx.moveTo(pixel, y.getPixelForValue(value));
      ctx.lineTo(pixel, y.getPixelForValue(high[i]));
    }
    ctx.stroke();
    ctx.restore();
  },
};

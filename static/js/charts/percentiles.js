// The percentile plot: how slow is the slowest half, tenth, hundredth. x = 1/(1−q), logarithmic.

import { crosshair, endLabels, endWidthFor, framed, isNamed, lookOf } from "./marks.js";
import { msScale, onScaleChoice } from "./ms_axis.js";
import { asTable, readable, upright } from "./reading.js";
import { cssToken, onThemeChange } from "./theme.js";

const TICKS = [2, 10, 100, 1000, 10_000, 100_000];
const TICK_LABELS = ["p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];
const LOWEST = 1 / 0.9;

// lines: [{label, scheme, mode, curve: [{x, ms, beyond, label, text}]}] with what `lookOf` reads.
export function percentilePlot(canvas, lines, { switcher = null } = {}) {
  const chart = new window.Chart(canvas, {
    type: "line",
    data: { datasets: [] },
    options: options(endWidthFor(canvas, [])),
    plugins: [endLabels, crosshair],
  });
  let isLog = true;
  let shown = lines;
  const tellTable = asTable(canvas.closest(".chart"), () => tableOf(shown));

  function draw() {
    chart.data.datasets = shown.map(datasetOf);
    const xs = shown.flatMap((line) => line.curve.map((point) => point.x));
    Object.assign(chart.options.scales.x, { min: LOWEST, max: Math.max(20, ...xs) * 1.08 });
    setHeight(chart, shown, isLog);
    chart.options.layout.padding.right = endWidthFor(canvas, shown.filter(isNamed).map((line) => line.label));
    chart.update("none");
    tellTable();
  }

  onScaleChoice(switcher, (isLogNow) => {
    isLog = isLogNow;
    draw();
  });
  readable(chart, {
    places: () => ticksOf(shown),
    placeUnder: (x) => (x >= LOWEST ? x : null),
    say: (x) => readout(shown.filter(isNamed), x),
  });
  onThemeChange(draw);
  draw();
  return {
    show(next) {
      shown = next;
      draw();
    },
  };
}

function options(endWidth) {
  return {
    ...framed(endWidth),
    parsing: false,
    normalized: true,
    events: [],
    plugins: { crosshair: { at: null } },
    scales: {
      x: {
        type: "logarithmic",
        border: { display: false },
        grid: { color: () => cssToken("grid") },
        afterBuildTicks(scale) {
          scale.ticks = TICKS.filter((x) => x >= scale.min && x <= scale.max * 1.01).map((value) => ({ value }));
        },
        ticks: { maxRotation: 0, autoSkipPadding: 10, callback: (x) => TICK_LABELS[TICKS.indexOf(x)] },
      },
      y: msScale(true),
    },
  };
}

function setHeight(chart, lines, isLog) {
  const values = lines.flatMap((line) => line.curve.filter((p) => p.x >= LOWEST).map((p) => p.ms));
  chart.options.scales.y = msScale(isLog, values);
}

function datasetOf(line) {
  const data = line.curve.filter((point) => point.x >= LOWEST).map((point) => ({ x: point.x, y: point.ms, beyond: point.beyond }));
  const isMark = (i) => TICKS.some((tick) => isAt(data[i].x, tick));
  return {
    ...lookOf(line, 1.6),
    data,
    pointRadius: data.map((_, i) => (isMark(i) && !line.grey ? 4 : 0)),
    clip: 8, // a marker at the edge is drawn whole
    ...(!line.grey && {
      segment: {
        borderColor: (context) => (data[context.p1DataIndex].beyond < 10 ? cssToken("ink-3") : undefined),
        borderDash: (context) => (data[context.p1DataIndex].beyond < 10 ? [1, 3] : undefined),
      },
    }),
  };
}

// The percentile at x of every line.
function readout(lines, x) {
  const points = lines.map((line) => pointAt(line.curve, x));
  const values = lines.map((line, i) => `${line.label} ${points[i].text}`);
  return `${farthest(points).label}  ${values.join("  ")}`;
}

// The percentiles with a tick that any of the lines reaches.
function ticksOf(lines) {
  const reached = Math.max(0, ...lines.map((line) => line.curve.at(-1).x));
  return TICKS.filter((tick) => tick <= reached * (1 + 1e-6));
}

// The plot's marks: a row a percentile, a column a line. As in all tables, ~ marks a weak one.
function tableOf(lines) {
  const text = ({ curve }, tick) => {
    const point = curve.find(({ x }) => isAt(x, tick));
    return point ? (point.beyond < 10 ? "~" : "") + point.text : "\u2013";
  };
  return upright({
    head: ["ms", ...lines.map((line) => line.label)],
    rows: ticksOf(lines).map((tick) => [
      TICK_LABELS[TICKS.indexOf(tick)],
      ...lines.map((line) => text(line, tick)),
    ]),
  });
}

function isAt(x, tick) {
  return Math.abs(x - tick) < tick * 1e-6;
}

// A curve ends with its last sample: beyond, that is what is known.
function pointAt(curve, x) {
  return curve.find((point) => point.x >= x) ?? curve.at(-1);
}

function farthest(points) {
  return points.reduce((far, point) => (point.x > far.x ? point : far));
}

// Every run a mark, connected along the blocks: how far repeats of one test lie apart.

import { crosshair, endLabels, endWidthFor, fixWidth, framed, isNamed, lookOf } from "./marks.js";
import { logRange, logTicks, roundUp, tickText } from "./axes.js";
import { asTable, readable, upright } from "./reading.js";
import { cssToken, onThemeChange } from "./theme.js";

// lines: [{label, scheme, mode, means: [ms|null per repeat], texts: [of each mean]}] with what
// `lookOf` reads; of several targets also `apart`: the means that do not count.
// `shared`: all means that the scale, then logarithmic, must hold; null for a scale of its own from 0.
export function blocksChart(canvas, lines, repeats, shared = null) {
  const isNarrow = canvas.parentElement.clientWidth < 480;
  const chart = new window.Chart(canvas, {
    type: "line",
    data: { datasets: [] },
    options: options(repeats, isNarrow, endWidthFor(canvas, [])),
    plugins: [endLabels, crosshair],
  });
  let shown = lines;
  let scale = shared;
  const tellTable = asTable(canvas.closest(".chart"), () => tableOf(shown, repeats));

  function draw() {
    chart.data.datasets = [...shown.map(datasetOf), ...shown.filter(hasApart).map(apartOf)];
    Object.assign(chart.options.scales.y, scaleOf(shown, scale));
    chart.options.layout.padding.right = endWidthFor(canvas, shown.filter(isNamed).map((line) => line.label));
    chart.update("none");
    tellTable();
  }

  const places = () => Array.from({ length: repeats }, (_, i) => i + 1);
  readable(chart, {
    places,
    placeUnder: (x) => places().find((block) => block === Math.round(x)) ?? null,
    say: (block) => readout(shown.filter(isNamed), block),
  });
  onThemeChange(draw);
  draw();
  return {
    show(next, nextShared = null) {
      shown = next;
      scale = nextShared;
      draw();
    },
  };
}

function options(repeats, isNarrow, endWidth) {
  return {
    ...framed(endWidth),
    parsing: false,
    events: [],
    plugins: { crosshair: { at: null } },
    scales: {
      x: {
        type: "linear",
        min: 0.6,
        max: repeats + 0.2,
        grid: { display: false },
        border: { display: false },
        afterBuildTicks(scale) {
          const step = Math.ceil(repeats / 10);
          scale.ticks = Array.from({ length: repeats }, (_, i) => ({ value: i + 1 }))
            .filter((tick) => (tick.value - 1) % step === 0);
        },
        ticks: {
          maxRotation: 0,
          callback: (value) => (isNarrow || repeats > 6 ? `${value}` : `block ${value}`),
        },
      },
      y: {
        border: { display: false },
        afterFit: fixWidth,
        grid: { color: () => cssToken("grid") },
        ticks: { maxTicksLimit: 6, callback: tickText },
      },
    },
  };
}

function scaleOf(lines, shared) {
  if (!shared?.length) {
    const means = lines.flatMap((line) => line.means).filter((each) => each !== null);
    return { type: "linear", min: 0, max: roundUp(Math.max(...means, 0) * 1.08) };
  }
  const afterBuildTicks = (scale) => {
    scale.ticks = logTicks(scale.min, scale.max).map((value) => ({ value }));
  };
  return { type: "logarithmic", ...logRange(shared), afterBuildTicks };
}

const hasApart = (line) => line.apart?.some((ms) => ms !== null);

// Runs that do not count: crosses in the line's colour, without a line.
function apartOf(line) {
  return {
    data: line.apart.map((ms, i) => ({ x: i + 1, y: ms })),
    label: line.label,
    showLine: false,
    pointStyle: "crossRot",
    pointRadius: 5,
    pointBorderColor: cssToken(line.token),
    pointBorderWidth: 2,
  };
}

function datasetOf(line) {
  return {
    ...lookOf(line, 1.4),
    data: line.means.map((ms, i) => ({ x: i + 1, y: ms })),
    pointRadius: line.grey ? 0 : 4,
    spanGaps: !line.apart,
  };
}

function readout(lines, block) {
  const values = lines
    .filter((line) => line.means[block - 1] !== undefined)
    .map((line) => `${line.label} ${line.texts[block - 1]}`);
  return values.length ? `block ${block}  ${values.join("  ")}` : "";
}

function tableOf(lines, repeats) {
  return upright({
    head: ["mean, ms", ...lines.map((line) => line.label)],
    rows: Array.from({ length: repeats }, (_, i) => [
      `block ${i + 1}`,
      ...lines.map((line) => line.texts[i] ?? "\u2013"),
    ]),
  });
}

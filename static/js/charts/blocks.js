// Every run a mark, connected along the blocks: how far repeats of one test lie apart.

import { PLAIN, crosshair, endLabels, endWidthFor, fixWidth, framed } from "./marks.js";
import { roundUp, tickText } from "./axes.js";
import { asTable, readable } from "./reading.js";
import { cssToken, onThemeChange } from "./theme.js";

const SHAPES = { new: "circle", resumed: "triangle", "keep-alive": "rect" };
const DASHES = { new: [], resumed: [7, 4], "keep-alive": [2, 3] };

// lines: [{label, scheme, mode, means: [ms|null per repeat], texts: [of each mean]}].
export function blocksChart(canvas, lines, repeats) {
  const isNarrow = canvas.parentElement.clientWidth < 480;
  const chart = new window.Chart(canvas, {
    type: "line",
    data: { datasets: [] },
    options: options(repeats, isNarrow, endWidthFor(canvas, [])),
    plugins: [endLabels, crosshair],
  });
  let shown = lines;
  const tellTable = asTable(canvas.closest(".chart"), () => tableOf(shown, repeats));

  function draw() {
    chart.data.datasets = shown.map(datasetOf);
    const means = shown.flatMap((line) => line.means).filter((each) => each !== null);
    chart.options.scales.y.max = roundUp(Math.max(...means, 0) * 1.08);
    chart.options.layout.padding.right = endWidthFor(canvas, shown.map((line) => line.label));
    chart.update("none");
    tellTable();
  }

  const places = () => Array.from({ length: repeats }, (_, i) => i + 1);
  readable(chart, {
    places,
    placeUnder: (x) => places().find((block) => block === Math.round(x)) ?? null,
    say: (block) => readout(shown, block),
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
        min: 0,
        border: { display: false },
        afterFit: fixWidth,
        grid: { color: () => cssToken("grid") },
        ticks: { maxTicksLimit: 6, callback: tickText },
      },
    },
  };
}

function datasetOf(line) {
  const isPlain = PLAIN.has(line.scheme);
  return {
    data: line.means.map((ms, i) => ({ x: i + 1, y: ms })),
    label: line.label,
    endLabel: line.label,
    labelToken: line.scheme,
    borderColor: cssToken(line.scheme),
    borderDash: DASHES[line.mode] || [],
    borderWidth: 1.4,
    pointStyle: SHAPES[line.mode] || "circle",
    pointRadius: 4,
    pointBackgroundColor: cssToken(isPlain ? "paper" : line.scheme),
    pointBorderColor: cssToken(line.scheme),
    pointBorderWidth: 1.5,
    spanGaps: true,
  };
}

function readout(lines, block) {
  const values = lines
    .filter((line) => line.means[block - 1] !== undefined)
    .map((line) => `${line.label} ${line.texts[block - 1]}`);
  return values.length ? `block ${block}  ${values.join("  ")}` : "";
}

function tableOf(lines, repeats) {
  return {
    head: ["mean, ms", ...lines.map((line) => line.label)],
    rows: Array.from({ length: repeats }, (_, i) => [
      `block ${i + 1}`,
      ...lines.map((line) => line.texts[i] ?? "\u2013"),
    ]),
  };
}

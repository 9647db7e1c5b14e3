// One panel of charts that lie above one another on the same seconds: its Chart, axes and lines.

import { crosshair, endLabels, fixWidth, framed, limitLabels, timeGround } from "./marks.js";
import { tickText } from "./axes.js";
import { timeTicks, timeUnit } from "./time_axis.js";
import { cssToken } from "./theme.js";

export function panel(frame, name, { options, words }) {
  const element = frame.querySelector(`[data-panel="${name}"]`);
  const chart = new window.Chart(element.querySelector("canvas"), {
    type: "line",
    data: { datasets: [] },
    options,
    plugins: [timeGround, endLabels, limitLabels, crosshair],
  });
  return { element, chart, words, readout: element.querySelector(".readout") };
}

export function baseOptions(isLowest, y) {
  return {
    ...framed(),
    parsing: false,
    normalized: true,
    events: [],
    plugins: { timeGround: { reached: 0 }, crosshair: { at: null } },
    scales: {
      x: {
        type: "linear",
        grid: { display: false },
        border: { display: false },
        afterBuildTicks(scale) {
          scale.ticks = timeTicks(scale.min, scale.max).map((value) => ({ value }));
        },
        ticks: { display: isLowest, maxRotation: 0, callback: timeText },
      },
      y: { border: { display: false }, afterFit: fixWidth, grid: { color: () => cssToken("grid") }, ...y },
    },
  };
}

function timeText(value, i, ticks) {
  const { name, seconds } = timeUnit(this.max);
  return tickText(value / seconds) + (i === ticks.length - 1 ? ` ${name}` : "");
}

export const fromZero = {
  min: 0,
  ticks: { maxTicksLimit: 4, precision: 0, callback: tickText },
};

export function countConfig(words) {
  return { options: baseOptions(false, fromZero), words };
}

export function line(data, token, more) {
  const colour = cssToken(token);
  return {
    data,
    borderColor: colour,
    backgroundColor: colour,
    pointRadius: data.map((_, i) => (isAlone(data, i) ? 2.5 : 0)),
    spanGaps: false,
    ...more,
  };
}

// A second without neighbours has no line: it is drawn as a dot.
function isAlone(data, i) {
  return (data[i - 1]?.y ?? null) === null && (data[i + 1]?.y ?? null) === null;
}


// One panel of charts that lie above one another on the same seconds: its Chart, axes and lines.

import { crosshair, endLabels, fixWidth, framed, limitLabels, loneDots, timeGround } from "./marks.js";
import { roundUp, tickText } from "./axes.js";
import { timeTicks, timeUnit } from "./time_axis.js";
import { chosenRange } from "./dragging.js";
import { cssToken } from "./theme.js";
import { lineOf } from "../live/points.js";

// `set(panel, points, plan, axis)` gives the chart its data; `words(point, plan)` is what the crosshair
// reads. The chart is made when it is drawn for the first time: a hidden panel needs none.
export function panel(frame, name, { options, words, set }) {
  const element = frame.querySelector(`[data-panel="${name}"]`);
  const canvas = element.querySelector("canvas");
  let chart = null;
  return {
    element, canvas, words, set,
    readout: element.querySelector(".readout"),
    isMade: () => chart !== null,
    get chart() {
      chart ??= new window.Chart(canvas, {
        type: "line",
        data: { datasets: [] },
        options,
        plugins: [chosenRange, timeGround, endLabels, limitLabels, loneDots, crosshair],
      });
      return chart;
    },
  };
}

export function baseOptions(isLowest, y) {
  return {
    ...framed(),
    parsing: false,
    normalized: true,
    events: [],
    plugins: { chosenRange: { range: null }, timeGround: { reached: 0 }, crosshair: { at: null } },
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

// A line of counts from zero, and what is above each of them.
export function countConfig(words, value) {
  return { options: baseOptions(false, fromZero), words, set: (each, points, plan) => setCount(each, wholeOf(points, plan), value) };
}

function setCount({ chart }, points, value) {
  const data = lineOf(points, value);
  chart.data.datasets = [line(data, "ink", { borderWidth: 1.6 })];
  chart.options.scales.y.max = roundUp(Math.max(...data.map((each) => each.y || 0), 1) * 1.08);
}

// What ended in the last part of a second is no count per second: drawn, it would look like an outage.
export function wholeOf(points, plan) {
  return points.filter((point) => point.second < (plan.wholeSeconds ?? Infinity));
}

// Options are values and no lists or functions: of these Chart.js works out all anew for each point,
// which for a thousand of them takes longer than everything else.
export function line(data, token, more) {
  const colour = cssToken(token);
  return {
    data,
    borderColor: colour,
    backgroundColor: colour,
    pointRadius: 0,
    hasDots: true,
    spanGaps: false,
    ...more,
  };
}

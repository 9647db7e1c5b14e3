// What stands behind and above the marks of a history: changes, the lanes of what was deployed or
// changed, and the intervals. Each is a Chart.js plugin with its options in chart.options.plugins.<id>.

import { mergedLabels } from "./campaign_axis.js";
import { cssToken } from "./theme.js";

const LANE_HEIGHT = 15;
const CHANGE_HEIGHT = 20; // of the line with the sizes of the changes
const LABEL_ROOM = 48; // pixels: closer labels become one

// The room above the highest panel.
export function headHeight(lanes) {
  return CHANGE_HEIGHT + lanes.length * LANE_HEIGHT;
}

// Where levels change and what was deployed or changed; the words stand above the lines.
export const ground = {
  id: "ground",
  beforeDatasetsDraw(chart, _, { changes, lanes, hasLabels }) {
    const { ctx, chartArea: area, scales: { x } } = chart;
    const placed = (each) => ({ ...each, x: x.getPixelForValue(each.time) });
    ctx.save();
    for (const { from, to } of changes) {
      ctx.fillStyle = cssToken("band");
      const left = x.getPixelForValue(from);
      ctx.fillRect(left, area.top, x.getPixelForValue(to) - left, area.height);
    }
    for (const [row, { name, dash, events }] of lanes.entries()) {
      const shown = events.map(placed).filter((each) => each.x >= area.left && each.x <= area.right);
      const top = hasLabels ? area.top - headHeight(lanes) + row * LANE_HEIGHT : area.top;
      for (const each of shown) vertical(ctx, each.x, top, area.bottom, "ink-3", dash, 1.2);
      if (hasLabels) laneLabels(ctx, area, name, mergedLabels(shown, LABEL_ROOM, name), top);
    }
    for (const each of changes.map(placed)) vertical(ctx, each.x, area.top, area.bottom, "warn", [5, 3], 1.6);
    if (hasLabels) changeLabels(ctx, area, changes.map(placed));
    ctx.restore();
  },
};

function vertical(ctx, pixel, top, bottom, token, dash, width) {
  ctx.strokeStyle = cssToken(token);
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(Math.round(pixel) + 0.5, top);
  ctx.lineTo(Math.round(pixel) + 0.5, bottom);
  ctx.stroke();
}

// The lane's name at its left, and its words right of their lines as far as there is room.
function laneLabels(ctx, area, name, labels, top) {
  ctx.font = `12px ${window.Chart.defaults.font.family}`;
  ctx.textBaseline = "middle";
  const middle = top + LANE_HEIGHT / 2;
  ctx.textAlign = "left";
  ctx.fillStyle = cssToken("ink-3");
  ctx.fillText(name, 0, middle);
  for (const [i, { until, text }] of labels.entries()) {
    const end = labels[i + 1]?.x ?? ctx.canvas.clientWidth;
    if (end - until < 20) continue;
    ctx.fillStyle = cssToken("ink-2");
    ctx.save();
    ctx.beginPath();
    ctx.rect(until + 3, top, end - until - 8, LANE_HEIGHT);
    ctx.clip();
    ctx.fillText(text, until + 5, middle);
    ctx.restore();
  }
}

// Newest first; one that would cover a newer one is left out, and is in the list of changes.
function changeLabels(ctx, area, changes) {
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

// The interval of each mark behind it.
export const whiskers = {
  id: "whiskers",
  beforeDatasetsDraw(chart, _, { times, low, high }) {
    const { ctx, chartArea: area, scales: { x, y } } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    ctx.strokeStyle = cssToken("ink-3");
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (const [i, value] of low.entries()) {
      if (value === null) continue;
      const pixel = Math.round(x.getPixelForValue(times[i])) + 0.5;
      ctx.moveTo(pixel, y.getPixelForValue(value));
      ctx.lineTo(pixel, y.getPixelForValue(high[i]));
    }
    ctx.stroke();
    ctx.restore();
  },
};

// What our charts draw besides lines: hatching, the time to come, labels at line ends, a crosshair.
// Each is a Chart.js plugin that reads its options from chart.options.plugins.<id>.

import { cssToken } from "./theme.js";
import { pushApart, shortened } from "./axes.js";
import { loneOf } from "../live/points.js";

// Schemes without TLS: their marks are hollow.
export const PLAIN = new Set(["http", "ws"]);

const SHAPES = { new: "circle", resumed: "triangle", "keep-alive": "rect" };
const DASHES = { new: [], resumed: [7, 4], "keep-alive": [2, 3] };

// How a line and its marks look: by a style of its own ({token, dash, shape, hollow}), else by its
// scheme and connection mode. A `grey` one has no name and lies beneath the others.
export function lookOf(line, borderWidth) {
  const token = line.grey ? "line-control" : line.token ?? line.scheme;
  const isHollow = line.hollow ?? PLAIN.has(line.scheme);
  return {
    label: line.label,
    endLabel: line.grey ? null : line.label,
    labelToken: token,
    order: line.grey ? 1 : 0,
    borderColor: cssToken(token),
    borderDash: line.dash ?? DASHES[line.mode] ?? [],
    borderWidth: line.grey ? 0.5 : borderWidth,
    pointStyle: line.shape ?? SHAPES[line.mode] ?? "circle",
    pointBackgroundColor: cssToken(isHollow ? "paper" : token),
    pointBorderColor: cssToken(token),
    pointBorderWidth: 1.5,
  };
}

export const isNamed = (line) => !line.grey;

export const AXIS_WIDTH = 56;
const END_WIDTH = 64;
const LABEL_GAP = 14;

// The fixed frame that lets stacked panels share their pixels.
export function framed(endWidth = END_WIDTH) {
  return { layout: { padding: { right: endWidth, top: 6 } } };
}

// The room that the names at the line ends need, of which a narrow chart gives less than half.
export function endWidthFor(canvas, names) {
  const pen = canvas.getContext("2d");
  pen.save();
  pen.font = endFont();
  const longest = Math.max(0, ...names.map((name) => pen.measureText(name).width));
  pen.restore();
  const most = canvas.parentElement.clientWidth * 0.42;
  return Math.ceil(Math.max(END_WIDTH, Math.min(longest + 14, most)));
}

function endFont() {
  return `500 12px ${window.Chart.defaults.font.family}`;
}

export function fixWidth(scale) {
  scale.width = AXIS_WIDTH;
}

// A canvas pattern of lines in the colour of a token.
export function hatch(context, token, { step = 6, ground = null } = {}) {
  const ratio = window.devicePixelRatio || 1;
  const tile = document.createElement("canvas");
  tile.width = tile.height = step * ratio;
  const pen = tile.getContext("2d");
  pen.scale(ratio, ratio);
  if (ground) {
    pen.fillStyle = cssToken(ground);
    pen.fillRect(0, 0, step, step);
  }
  pen.strokeStyle = cssToken(token);
  pen.lineWidth = 1;
  for (const offset of [-step, 0, step]) {
    pen.beginPath();
    pen.moveTo(offset, step);
    pen.lineTo(offset + step, 0);
    pen.stroke();
  }
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

// Warm-up hatched, zero marked, the time to come as wash up to the planned end.
export const timeGround = {
  id: "timeGround",
  beforeDatasetsDraw(chart, _, options) {
    const { ctx, chartArea: area, scales: { x } } = chart;
    const pixel = (value) => Math.min(area.right, Math.max(area.left, x.getPixelForValue(value)));
    ctx.save();
    if (options.reached < x.max) {
      ctx.fillStyle = cssToken("wash");
      const from = pixel(Math.max(options.reached, x.min));
      ctx.fillRect(from, area.top, area.right - from, area.height);
    }
    if (x.min < 0) {
      ctx.fillStyle = hatch(ctx, "line", { step: 7 });
      ctx.fillRect(area.left, area.top, pixel(0) - area.left, area.height);
      ctx.fillStyle = cssToken("ink-3");
      ctx.fillRect(Math.round(pixel(0)), area.top, 1, area.height);
    }
    ctx.restore();
  },
};

// Names at the right end of each line, pushed apart; `dataset.endLabel` is the name.
export const endLabels = {
  id: "endLabels",
  afterDatasetsDraw(chart) {
    const ends = chart.data.datasets.map((dataset, i) => endOf(chart, dataset, i)).filter(Boolean);
    const { ctx, chartArea: area } = chart;
    const heights = pushApart(ends.map((end) => end.y), LABEL_GAP, area.top + 4, area.bottom - 2);
    ctx.save();
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const [i, end] of ends.entries()) drawEnd(ctx, end, heights[i], area.right);
    ctx.restore();
  },
};

function endOf(chart, dataset, index) {
  if (!dataset.endLabel || !chart.isDatasetVisible(index)) return null;
  const points = chart.getDatasetMeta(index).data;
  for (let i = points.length - 1; i >= 0; i -= 1) {
    if (dataset.data[i]?.y !== null && Number.isFinite(points[i]?.y)) {
      return { x: points[i].x, y: points[i].y, text: dataset.endLabel, token: dataset.labelToken };
    }
  }
  return null;
}

function drawEnd(ctx, end, y, right) {
  const isNear = right - end.x < 40;
  const x = (isNear ? right : end.x) + 10;
  ctx.strokeStyle = cssToken("line-control");
  ctx.lineWidth = 1;
  if (isNear && Math.abs(y - end.y) > 3) {
    ctx.beginPath();
    ctx.moveTo(end.x + 3, end.y);
    ctx.lineTo(x - 2, y);
    ctx.stroke();
  }
  ctx.font = endFont();
  ctx.fillStyle = cssToken(end.token || "ink-2");
  const room = ctx.canvas.clientWidth - x;
  ctx.fillText(shortened(end.text, room, (text) => ctx.measureText(text).width), x, y);
}

// The rule above each threshold's line, at its left end; `dataset.limitLabel` is the rule.
export const limitLabels = {
  id: "limitLabels",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea: area } = chart;
    const limits = chart.data.datasets
      .map((dataset, i) => ({ dataset, first: chart.getDatasetMeta(i).data.find((each) => Number.isFinite(each.y)) }))
      .filter(({ dataset, first }) => dataset.limitLabel && first);
    // Above the line, or below it where there is no room.
    const besides = limits.map(({ first }) => (first.y - area.top < 16 ? first.y + 9 : first.y - 9));
    const heights = pushApart(besides, LABEL_GAP, area.top + 6, area.bottom - 6);
    ctx.save();
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.font = endFont();
    for (const [i, { dataset }] of limits.entries()) {
      const { width } = ctx.measureText(dataset.limitLabel);
      ctx.fillStyle = cssToken("paper");
      ctx.fillRect(area.left + 4, heights[i] - 7, width + 8, 14);
      ctx.fillStyle = cssToken(dataset.labelToken);
      ctx.fillText(dataset.limitLabel, area.left + 8, heights[i]);
    }
    ctx.restore();
  },
};

// A point without neighbours has no line: it is drawn as a dot. Only of lines with `dataset.hasDots`.
export const loneDots = {
  id: "loneDots",
  afterDatasetsDraw(chart) {
    const { ctx } = chart;
    ctx.save();
    for (const [i, { data, hasDots, borderColor }] of chart.data.datasets.entries()) {
      if (!hasDots) continue;
      const points = chart.getDatasetMeta(i).data;
      ctx.fillStyle = borderColor;
      for (const n of loneOf(data)) drawDot(ctx, points[n]);
    }
    ctx.restore();
  },
};

function drawDot(ctx, { x, y, skip }) {
  if (skip || !Number.isFinite(y)) return;
  ctx.beginPath();
  ctx.arc(x, y, 2.5, 0, 2 * Math.PI);
  ctx.fill();
}

// One dotted line at the second that is read; `options.at` is null while nothing is read.
export const crosshair = {
  id: "crosshair",
  afterDatasetsDraw(chart, _, options) {
    if (options.at === null || options.at === undefined) return;
    const { ctx, chartArea: area, scales: { x } } = chart;
    const pixel = x.getPixelForValue(options.at);
    if (pixel < area.left || pixel > area.right) return;
    ctx.save();
    ctx.strokeStyle = cssToken("ink-3");
    ctx.setLineDash([2, 2]);
    ctx.beginPath();
    ctx.moveTo(pixel, area.top);
    ctx.lineTo(pixel, area.bottom);
    ctx.stroke();
    ctx.restore();
  },
};

// What our charts draw besides Chart.js' lines and marks, as one plugin that reads the specification
// of its panel: bands, intervals, marks with their words, names at line ends, the crosshair.

import { pushApart, shortened } from "./axes.js";
import { Chart } from "./library.js";
import { mergedLabels } from "./dates.js";
import { loneOf } from "../live/points.js";
import { cssToken } from "./theme.js";

const LINE_PX = 14; // from one name at a line's end to the next
const LANE_PX = 15; // of a row above a panel
const ABOVE_PX = 20; // of the row that is nearest to it
const END_PX = 64; // what names at line ends get at least
// Where a point's label may be, the first choice first: above, right, left, below.
const PLACES = [[0, -9, "center"], [8, 4, "left"], [-8, 4, "right"], [0, 18, "center"]];

const font = (weight) => `${weight} 12px ${Chart.defaults.font.family}`;

// The room around a panel: what the names at line ends need, of which a narrow chart gives a
// third, and the rows above it.
export function paddingOf(canvas, panel, names) {
  const pen = canvas.getContext("2d");
  pen.save();
  pen.font = font(500);
  const longest = Math.max(0, ...names.map((name) => pen.measureText(name).width));
  pen.restore();
  const most = canvas.parentElement.clientWidth * 0.32;
  const right = longest ? Math.ceil(Math.max(END_PX, Math.min(longest + 14, most))) : 16;
  const lanes = lanesOf(panel);
  const above = panel.marks?.some(isAbove) ? ABOVE_PX : 6;
  return { right, top: above + lanes.length * LANE_PX };
}

const isAbove = ({ axis, label, lane }) => axis === "x" && label && !lane;
const lanesOf = ({ marks = [] }) => [...new Set(marks.filter(({ label }) => label).map(({ lane }) => lane).filter(Boolean))];

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

export const drawings = {
  id: "drawings",
  beforeDatasetsDraw(chart) {
    for (const draw of [bands, intervals, lines]) apart(chart, draw);
  },
  afterDatasetsDraw(chart) {
    for (const draw of [dots, labels, words, ends, crosshair]) apart(chart, draw);
  },
};

// A chart draws once while it is made, before it has a panel.
function apart(chart, draw) {
  if (!chart.panel) return;
  chart.ctx.save();
  draw(chart, chart.ctx, chart.chartArea);
  chart.ctx.restore();
}

function bands({ panel, range, scales: { x, y } }, ctx, area) {
  const held = (pixel, from, to) => Math.min(to, Math.max(from, pixel));
  const chosen = range ? [{ axis: "x", low: range[0], high: range[1], look: "accent-wash" }] : [];
  for (const { axis, low, high, look = "band", label } of [...chosen, ...(panel.bands ?? [])]) {
    ctx.fillStyle = look === "hatch" ? hatch(ctx, "line", { step: 7 }) : cssToken(look);
    if (axis === "y") {
      const [bottom, top] = [low, high].map((each) => held(y.getPixelForValue(each), area.top, area.bottom));
      ctx.fillRect(area.left, top, area.width, bottom - top);
      continue;
    }
    const [left, right] = [low, high].map((each) => held(x.getPixelForValue(each), area.left, area.right));
    ctx.fillRect(left, area.top, right - left, area.height);
    ctx.fillStyle = cssToken("ink-3");
    ctx.font = font(400);
    if (label && ctx.measureText(label).width + 12 < right - left) ctx.fillText(label, left + 6, area.bottom - 6);
  }
}

// Of each point the interval behind it, as an upright or level line, a box, or with its neighbours an area.
function intervals({ panel, scales: { x, y } }, ctx, area) {
  ctx.beginPath();
  ctx.rect(area.left, area.top, area.width, area.height);
  ctx.clip();
  for (const series of panel.series) {
    ctx.strokeStyle = ctx.fillStyle = cssToken(series.style.token);
    ctx.globalAlpha = series.faint ? 0.45 : 1;
    if (series.look === "area") areaOf(series, ctx, x, y);
    else if (series.low) series.low.forEach((low, i) => upright(ctx, x.getPixelForValue(series.x[i]), y, low, series.high[i]));
    series.left?.forEach((left, i) => level(series, ctx, x, y.getPixelForValue(series.y[i]), left, series.right[i]));
  }
}

function areaOf(series, ctx, x, y) {
  const edge = (values) => values.map((value, i) => [x.getPixelForValue(series.x[i]), y.getPixelForValue(value)]);
  ctx.beginPath();
  for (const point of [...edge(series.low), ...edge(series.high).reverse()]) ctx.lineTo(...point);
  ctx.globalAlpha = 0.18;
  ctx.fill();
  ctx.globalAlpha = 1;
}

function upright(ctx, pixel, y, low, high) {
  if (low === null) return;
  ctx.lineWidth = 1.2;
  stroke(ctx, [[pixel, y.getPixelForValue(low)], [pixel, y.getPixelForValue(high)]]);
}

function level({ look }, ctx, x, pixel, low, high) {
  const [left, right] = [low, high].map((each) => x.getPixelForValue(each));
  ctx.lineWidth = 1.5;
  if (look === "span") {
    ctx.fillRect(left, pixel - 7, Math.max(2, right - left), 14);
    ctx.strokeStyle = cssToken("part-outline");
    ctx.strokeRect(left, pixel - 7, Math.max(2, right - left), 14);
  } else if (look === "box") ctx.strokeRect(left, pixel - 6, right - left, 12);
  else stroke(ctx, [[left, pixel], [right, pixel]]);
}

function stroke(ctx, points) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(Math.round(x) + 0.5, Math.round(y) + 0.5);
  ctx.stroke();
}

// The lines of marks; those with a lane begin in it.
function lines({ panel, scales: { x, y } }, ctx, area) {
  const lanes = lanesOf(panel);
  for (const { axis, at, colour, dash = [], lane } of panel.marks ?? []) {
    ctx.strokeStyle = cssToken(colour);
    ctx.lineWidth = 1.3;
    ctx.setLineDash(dash);
    if (axis === "y") {
      const pixel = y.getPixelForValue(at);
      if (pixel >= area.top && pixel <= area.bottom) stroke(ctx, [[area.left, pixel], [area.right, pixel]]);
      continue;
    }
    const pixel = x.getPixelForValue(at);
    if (pixel < area.left || pixel > area.right) continue;
    stroke(ctx, [[pixel, lane && lanes.length ? topOf(panel, lanes, lane, area) : area.top], [pixel, area.bottom]]);
  }
}

function topOf(panel, lanes, lane, area) {
  const above = panel.marks.some(isAbove) ? ABOVE_PX : 6;
  return area.top - above - (lanes.length - lanes.indexOf(lane)) * LANE_PX;
}

// A point without neighbours has no line: it is drawn as a dot.
function dots(chart, ctx) {
  for (const [i, { data, hasDots, borderColor }] of chart.data.datasets.entries()) {
    if (!hasDots) continue;
    const points = chart.getDatasetMeta(i).data;
    ctx.fillStyle = borderColor;
    for (const { x, y, skip } of loneOf(data).map((n) => points[n])) {
      if (skip || !Number.isFinite(y)) continue;
      ctx.beginPath();
      ctx.arc(x, y, 2.5, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
}

// What stands beside points, where it lies on no point and on no other label.
function labels({ panel, scales: { x, y }, width }, ctx) {
  const named = panel.series.flatMap((series) => placed(series, x, y).map((each, i) => ({ ...each, text: series.labels?.[i] })));
  const known = named.filter(({ py }) => Number.isFinite(py));
  const taken = known.map(({ px, py }) => boxOf(px, py + 5, 10, 10));
  ctx.font = font(400);
  ctx.fillStyle = cssToken("ink-3");
  for (const { px, py, text } of known.filter((each) => each.text)) {
    const wide = ctx.measureText(text).width;
    for (const [dx, dy, align] of PLACES) {
      const aside = { left: wide / 2, right: -wide / 2, center: 0 }[align];
      const box = boxOf(px + dx + aside, py + dy, wide, 11);
      if (box.right > width || taken.some((each) => overlaps(box, each))) continue;
      taken.push(box);
      ctx.textAlign = align;
      ctx.fillText(text, px + dx, py + dy);
      break;
    }
  }
}

function placed({ x: xs, y: ys }, x, y) {
  return xs.map((value, i) => ({ px: x.getPixelForValue(value), py: ys[i] === null ? NaN : y.getPixelForValue(ys[i]) }));
}

// Of a text whose line is at `bottom`.
function boxOf(middle, bottom, wide, high) {
  return { left: middle - wide / 2, right: middle + wide / 2, top: bottom - high, bottom };
}

function overlaps(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

// The words of marks: level ones at their left end, upright ones above the panel.
function words(chart, ctx, area) {
  const { panel, scales: { x, y } } = chart;
  const marks = panel.marks ?? [];
  const shown = marks.filter(({ label }) => label);
  levelWords(ctx, area, shown.filter(({ axis }) => axis === "y").map((each) => ({ ...each, pixel: y.getPixelForValue(each.at) })));
  const across = shown.filter(({ axis }) => axis === "x").map((each) => ({ ...each, x: x.getPixelForValue(each.at), text: each.label }));
  const lanes = lanesOf(panel);
  for (const lane of lanes) laneWords(ctx, lane, across.filter((each) => each.lane === lane), topOf(panel, lanes, lane, area));
  aboveWords(ctx, area, chart.width, across.filter(isAbove));
}

function levelWords(ctx, area, marks) {
  // Above the line, or below it where there is no room.
  const besides = marks.map(({ pixel }) => (pixel - area.top < 16 ? pixel + 9 : pixel - 9));
  const heights = pushApart(besides, LINE_PX, area.top + 6, area.bottom - 6);
  ctx.textBaseline = "middle";
  ctx.font = font(500);
  for (const [i, { label, colour }] of marks.entries()) {
    const { width } = ctx.measureText(label);
    ctx.fillStyle = cssToken("paper");
    ctx.fillRect(area.left + 4, heights[i] - 7, width + 8, 14);
    ctx.fillStyle = cssToken(colour);
    ctx.fillText(label, area.left + 8, heights[i]);
  }
}

// The lane's name at its left, and its words right of their lines as far as there is room.
function laneWords(ctx, lane, marks, top) {
  ctx.font = font(400);
  ctx.textBaseline = "middle";
  const middle = top + LANE_PX / 2;
  ctx.fillStyle = cssToken("ink-3");
  ctx.fillText(lane, 0, middle);
  const merged = mergedLabels(marks, 48, lane);
  for (const [i, { until, text }] of merged.entries()) {
    const end = merged[i + 1]?.x ?? ctx.canvas.clientWidth;
    if (end - until < 20) continue;
    ctx.fillStyle = cssToken("ink-2");
    ctx.fillText(shortened(text, end - until - 8, (each) => ctx.measureText(each).width), until + 5, middle);
  }
}

// From the right; one that would cover the one before it is left out.
function aboveWords(ctx, area, width, marks) {
  ctx.font = font(600);
  ctx.textBaseline = "bottom";
  let free = width;
  for (const { x, text, colour } of [...marks].sort((a, b) => b.x - a.x)) {
    const half = ctx.measureText(text).width / 2;
    const middle = Math.max(half, Math.min(x, width - half));
    if (middle + half > free) continue;
    ctx.textAlign = "center";
    ctx.fillStyle = cssToken(colour);
    ctx.fillText(text, middle, area.top - 4);
    free = middle - half - 6;
  }
}

// Names at the right end of each line, pushed apart; `dataset.end` is the name.
function ends(chart, ctx, area) {
  const named = chart.data.datasets.map((dataset, i) => endOf(chart, dataset, i)).filter(Boolean);
  const heights = pushApart(named.map((end) => end.y), LINE_PX, area.top + 4, area.bottom - 2);
  ctx.textBaseline = "middle";
  ctx.font = font(500);
  for (const [i, { x, y, text, token }] of named.entries()) {
    const isNear = area.right - x < 40;
    const begin = (isNear ? area.right : x) + 10;
    ctx.strokeStyle = cssToken("line-control");
    ctx.lineWidth = 1;
    if (isNear && Math.abs(heights[i] - y) > 3) stroke(ctx, [[x + 3, y], [begin - 2, heights[i]]]);
    ctx.fillStyle = cssToken(token);
    const room = chart.width - begin;
    if (room > 12) ctx.fillText(shortened(text, room, (each) => ctx.measureText(each).width), begin, heights[i]);
  }
}

function endOf(chart, { end, token, data }, index) {
  if (!end) return null;
  const points = chart.getDatasetMeta(index).data;
  const last = points.findLastIndex((each, i) => (data[i]?.y ?? null) !== null && Number.isFinite(each.y));
  return last < 0 ? null : { x: points[last].x, y: points[last].y, text: end, token };
}

function crosshair({ at, scales: { x } }, ctx, area) {
  const pixel = at === null || at === undefined ? NaN : x.getPixelForValue(at);
  if (!(pixel >= area.left && pixel <= area.right)) return;
  ctx.strokeStyle = cssToken("ink-3");
  ctx.setLineDash([2, 2]);
  stroke(ctx, [[pixel, area.top], [pixel, area.bottom]]);
}

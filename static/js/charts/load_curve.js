// The load of one run over time: warm-up hatched, one line a plan, single starts as ticks.

import { plain, roundTicks } from "../lib/format.js";
import { frame, hatch, svgElement } from "../lib/svg.js";

const HEIGHT = 190;
const LEFT = 48;
const TOP = 8;
const FLOOR = 156;

function spread(labels) {
  const sorted = labels.toSorted((a, b) => a.y - b.y);
  for (let i = 1; i < sorted.length; i += 1) {
    sorted[i].y = Math.max(sorted[i].y, sorted[i - 1].y + 14);
  }
  return sorted;
}

function scales(curves, width, right) {
  const from = Math.min(...curves.map((curve) => curve.from));
  const to = Math.max(...curves.map((curve) => curve.to));
  const yTicks = roundTicks(1.15 * Math.max(...curves.map((curve) => curve.level)), 3);
  const x = (s) => LEFT + ((s - from) / (to - from)) * (width - LEFT - right);
  const y = (level) => FLOOR - (level / yTicks.at(-1)) * (FLOOR - TOP);
  return { from, to, x, y, yTicks };
}

function drawAxes(svg, { from, to, x, y, yTicks }, isOpenEnded) {
  for (const tick of yTicks) {
    svg.append(svgElement("line", { x1: x(from), x2: x(to), y1: y(tick), y2: y(tick), class: "c-grid" }));
    const at = { x: LEFT - 8, y: y(tick) + 4, class: "c-axis", "text-anchor": "end" };
    svg.append(svgElement("text", at, plain(tick)));
  }
  svg.append(svgElement("line", { x1: x(from), x2: x(to), y1: FLOOR, y2: FLOOR, class: "c-base" }));
  const marks = roundTicks(to, 4).filter((tick) => tick <= to * 1.001);
  for (const tick of from < 0 ? [from, ...marks] : marks) {
    const at = { x: x(tick), y: FLOOR + 18, class: "c-axis", "text-anchor": "middle" };
    if (!isOpenEnded || tick <= 0) svg.append(svgElement("text", at, plain(tick)));
  }
}

function drawWarmUp(svg, { from, x }) {
  if (from >= 0) return;
  const box = { x: x(from), y: TOP, width: x(0) - x(from), height: FLOOR - TOP };
  svg.append(svgElement("rect", { ...box, fill: hatch(svg, "hatch-light") }));
  svg.append(svgElement("line", { x1: x(0), x2: x(0), y1: TOP, y2: FLOOR, class: "c-base" }));
}

function drawCurve(svg, curve, { x, y }, index) {
  const points = curve.points.map(([s, level]) => [x(s), y(level)]);
  const [end, level] = points.at(-1);
  const start = points.at(-2)[0];
  const middle = curve.isOpenEnded ? start + (end - start) * 0.7 : end;
  const style = `c-line${index ? ` c-line-${index + 1}` : ""}`;
  const drawn = [...points.slice(0, -1), [middle, level]];
  svg.append(svgElement("path", { d: `M${drawn.map((each) => each.join(" ")).join("L")}`, class: style }));
  if (curve.isOpenEnded) {
    svg.append(svgElement("path", { d: `M${middle} ${level}H${end}`, class: "c-line c-open" }));
  }
  for (const s of curve.arrivals) {
    svg.append(svgElement("line", { x1: x(s), x2: x(s), y1: FLOOR, y2: FLOOR - 7, class: "c-mark" }));
  }
}

// curves: [{label, …loadCurve(…)}] of one unit; the label stands at the line's end.
export function drawLoadCurves(svg, curves) {
  svg.replaceChildren();
  const hasLabels = curves.some((curve) => curve.label);
  const width = frame(svg, HEIGHT);
  const scale = scales(curves, width, hasLabels ? 96 : 16);
  drawWarmUp(svg, scale);
  drawAxes(svg, scale, curves.every((curve) => curve.isOpenEnded));
  curves.forEach((curve, index) => drawCurve(svg, curve, scale, index));
  const labels = curves.map((curve) => ({ text: curve.label, y: scale.y(curve.level) + 4 }));
  for (const { text, y } of hasLabels ? spread(labels) : []) {
    svg.append(svgElement("text", { x: width - 90, y, class: "c-value" }, text));
  }
}

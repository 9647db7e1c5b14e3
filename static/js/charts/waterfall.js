// The waterfall of one request: a bar for each phase, on one time axis. The table beside it is the
// text form.

import { roundTicks, tickText } from "./axes.js";
import { frame, hatch, svgElement } from "../lib/svg.js";

const ROW = 26;
const BAR = 14;
const LABEL = 68;
const VALUE = 64;
const FOOT = 24;

// Where each bar lies, in px. Durations in µs; a phase of 0 still shows as a hairline.
export function layOut(parts, width) {
  const total = Math.max(1, ...parts.map((part) => part.start + part.duration));
  const ticks = roundTicks(total / 1000).filter((tick) => tick * 1000 <= total * 1.02);
  const scale = (width - LABEL - VALUE) / Math.max(total, ticks.at(-1) * 1000);
  return {
    bars: parts.map((part, row) => ({
      name: part.name,
      x: LABEL + part.start * scale,
      y: row * ROW + (ROW - BAR) / 2,
      width: Math.max(1, part.duration * scale),
      text: `${part.text} ms`,
    })),
    ticks: ticks.map((ms) => ({ ms, x: LABEL + ms * 1000 * scale })),
    height: parts.length * ROW,
  };
}

function drawAxis(svg, { ticks, height }) {
  for (const { ms, x } of ticks) {
    svg.append(svgElement("line", { x1: x, x2: x, y1: 0, y2: height, class: "c-grid" }));
    const label = `${tickText(ms)}${ms === ticks.at(-1).ms ? " ms" : ""}`;
    svg.append(
      svgElement("text", { x, y: height + 16, class: "c-axis", "text-anchor": "middle" }, label),
    );
  }
}

function drawBar(svg, bar, fill) {
  const middle = bar.y + BAR / 2 + 4;
  svg.append(svgElement("text", { x: 0, y: middle, class: "c-label" }, bar.name));
  const box = { x: bar.x, y: bar.y, width: bar.width, height: BAR };
  svg.append(svgElement("rect", { ...box, class: `part part-${bar.name}` }));
  if (fill) svg.append(svgElement("rect", { ...box, fill }));
  svg.append(svgElement("text", { x: bar.x + bar.width + 6, y: middle, class: "c-value" }, bar.text));
}

export function drawWaterfall(svg, parts) {
  svg.replaceChildren();
  const plan = layOut(parts, frame(svg, parts.length * ROW + FOOT));
  const fills = { connect: hatch(svg, "hatch-line") };
  drawAxis(svg, plan);
  for (const bar of plan.bars) drawBar(svg, bar, fills[bar.name]);
}

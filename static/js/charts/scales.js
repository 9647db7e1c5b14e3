// Chart.js scales from the axes of a specification: one rule for ranges, ticks and their texts.

import { logRange, logTicks, rangeAround, roundUp, tickText } from "./axes.js";
import { dateText, dateTicks, timeSpan } from "./dates.js";
import { timeTicks, timeUnit } from "./time_axis.js";
import { cssToken } from "./theme.js";

export const AXIS_WIDTH = 56;
const DAY_PX = 90; // of a date's text

// The range of a horizontal axis around all places of its group.
export function rangeAcross({ scale, low, high }, values) {
  if (low !== undefined && high !== undefined) return { min: low, max: high };
  if (scale === "date") return timeSpan([...values].sort((a, b) => a - b));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (scale === "log") {
    const room = Math.max(1.03, (most / least) ** 0.04);
    return { min: least / room, max: most * room };
  }
  const room = (most - least || Math.abs(most) || 1) * 0.04;
  return { min: low ?? least - room, max: high ?? most + room };
}

// The range of an upright axis. `first` is that of the group's first panel.
export function rangeUp({ scale, low, high, around, like }, values, first) {
  if (like) return { min: first.min * like, max: first.max * like };
  if (low !== undefined && high !== undefined) return low < high ? { min: low, max: high } : { min: high, max: low, reverse: true };
  if (scale === "log") return logRange(values);
  if (around) return rangeAround(values);
  return { min: 0, max: high ?? roundUp(Math.max(...values, 0) * 1.08) };
}

export function scaleAcross(axis, range, isLowest) {
  const scale = scaleOf(axis, range);
  const ticks = { ...scale.ticks, display: isLowest, includeBounds: false };
  return { ...scale, offset: false, grid: { display: false }, ticks };
}

// As wide in every chart, so that what stands above one another shares its pixels.
export function scaleUp(axis, range, isStacked, isLow) {
  const scale = scaleOf(axis, range, isLow ? 4 : 6);
  return {
    ...scale,
    stacked: isStacked,
    grid: { color: () => cssToken("grid") },
    afterFit: (each) => { each.width = AXIS_WIDTH; },
    ticks: { ...scale.ticks, includeBounds: false },
  };
}

function scaleOf(axis, range, most = 8) {
  const { chosen, text } = rulesOf(axis, most);
  return {
    type: axis.scale === "log" ? "logarithmic" : "linear",
    ...range,
    border: { display: false },
    afterBuildTicks(scale) {
      if (chosen) scale.ticks = chosen(scale).map((value) => ({ value }));
    },
    ticks: { maxTicksLimit: most, maxRotation: 0, autoSkipPadding: 10, callback: text, ...(axis.whole && { precision: 0 }) },
  };
}

function rulesOf({ scale, ticks }, most) {
  if (ticks) {
    const texts = new Map(ticks);
    const isIn = (value, { min, max }) => value >= min && value <= max * (1 + 1e-6);
    return {
      chosen: (each) => [...texts.keys()].filter((value) => isIn(value, each)),
      text: (value) => texts.get(value),
    };
  }
  if (scale === "log") return { chosen: ({ min, max }) => logTicks(min, max, most), text: tickText };
  if (scale === "time") return { chosen: ({ min, max }) => timeTicks(min, max), text: timeText };
  if (scale === "date") {
    return {
      chosen: ({ min, max, width }) => dateTicks(min, max, width / DAY_PX),
      text(seconds) { return dateText(seconds, this.min, this.max); },
    };
  }
  return { chosen: null, text: tickText };
}

function timeText(value, i, ticks) {
  const { name, seconds } = timeUnit(this.max);
  return tickText(value / seconds) + (i === ticks.length - 1 ? ` ${name}` : "");
}

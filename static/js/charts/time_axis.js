// The time axis of a run: which of its seconds are shown, and where the ticks go. Pure.

import { roundUp } from "./axes.js";

const MINUTE = 60;
const HOUR = 3600;
const LAST_S = 5 * MINUTE;
const STEPS_S = [5, 10, 15, 20, 25, 30, 45, 60].map((minutes) => minutes * MINUTE);
// The choices of the switch, as the URL names them.
const VIEWS = ["so-far", "last-5", "to-the-end"];

const STRETCH = /^(-?\d{1,9})\.\.(-?\d{1,9})$/;
const LEAST_S = 5; // of a stretch

// The view that a URL's query asks for.
export function viewIn(query) {
  const asked = new URLSearchParams(query).get("time");
  return VIEWS.includes(asked) || stretchOf(asked) ? asked : VIEWS[0];
}

// The seconds [from, until] of a view that is a stretch of the run, such as 600..900; null of others.
export function stretchOf(view) {
  const [from, until] = (STRETCH.exec(view ?? "") ?? []).slice(1).map(Number);
  return until - from >= LEAST_S ? [from, until] : null;
}

// The view of the whole seconds around [from, until], as far as the axis goes.
export function stretchView([from, until], { min, max }) {
  const begin = Math.max(min, Math.min(Math.floor(from), max - LEAST_S));
  return `${begin}..${Math.min(max, Math.max(Math.ceil(until), begin + LEAST_S))}`;
}

// The query that asks for this view. The other parameters are kept; the usual view needs none.
export function queryFor(view, query) {
  const asked = new URLSearchParams(query);
  if (view === VIEWS[0]) asked.delete("time");
  else asked.set("time", view);
  const text = asked.toString();
  return text && `?${text}`;
}

// The seconds {min, max} that the axis shows, those up to `reached` with data. `first` and `last` are
// the seconds of the first and the last point, `planned` the planned length, null where only the target
// decides. `isLong`: whether there is more to see than the last five minutes.
export function timeAxis({ first = 0, last = -1, planned, warmUp = 0, isLive, view }) {
  const reached = Math.max(0, last + 1);
  const end = Math.max(reached, isLive ? planned || roundUp(reached * 1.3) : 1);
  const begin = Math.min(0, first, isLive ? -warmUp : 0);
  const isLong = end > LAST_S;
  const stretch = isLive ? null : stretchOf(view);
  if (stretch) return { min: stretch[0], max: stretch[1], reached: Math.min(reached, stretch[1]), isLong: true, stretch };
  if (view === "to-the-end") return { min: begin, max: end, reached, isLong };
  if (view === "last-5") {
    const max = Math.max(reached, Math.min(end, LAST_S));
    return { min: Math.max(begin, max - LAST_S), max, reached, isLong };
  }
  return { min: begin, max: Math.min(end, stepFor(reached)), reached, isLong };
}

// The first step of a growing axis that has room for what was reached: minutes, then whole hours.
function stepFor(reached) {
  return STEPS_S.find((step) => step >= reached) ?? Math.ceil(reached / HOUR) * HOUR;
}

// The unit of an axis that ends at `max`: {name, seconds, steps in that unit}.
export function timeUnit(max) {
  if (max <= LAST_S) return { name: "s", seconds: 1, steps: [1, 2, 5, 10, 20, 30, 60, 120] };
  if (max <= 2 * HOUR) return { name: "min", seconds: MINUTE, steps: [1, 2, 5, 10, 15, 30] };
  return { name: "h", seconds: HOUR, steps: [0.5, 1, 2, 3, 6, 12, 24, 48] };
}

// At most `most` round seconds within [min, max]: multiples of the same step of the axis' unit.
export function timeTicks(min, max, most = 8) {
  const { seconds, steps } = timeUnit(max);
  const fits = (step) => (max - min) / (step * seconds) < most;
  const step = (steps.find(fits) ?? steps.at(-1)) * seconds;
  const ticks = [];
  for (let tick = Math.ceil(min / step) * step; tick <= max; tick += step) ticks.push(tick || 0);
  return ticks;
}

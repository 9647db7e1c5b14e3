// Campaigns along an axis of time, in seconds since 1970, each with its index. Pure.

const [MINUTE, HOUR, DAY] = [60, 3600, 86400];
const DAYS = [1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY);
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, ...DAYS];
const MONDAY = 4 * DAY; // the first one after 1 January 1970

// The seconds {min, max} that the axis shows, with room beside the first and the last mark.
export function timeSpan(times) {
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0];
  const room = last > first ? Math.max((last - first) * 0.02, MINUTE / 2) : 2 * HOUR;
  return { min: first - room, max: last + room };
}

// That of the reader, in which the server writes times.
const ZONE = globalThis.document?.documentElement.dataset.zone ?? "UTC";

// At most `most` round instants within [min, max]: whole minutes, hours, days, or Mondays.
export function dateTicks(min, max, most) {
  const step = STEPS.find((each) => (max - min) / each <= Math.max(1, most)) ?? STEPS.at(-1);
  const origin = step > 2 * DAY ? MONDAY : 0;
  const ticks = [];
  for (let tick = Math.ceil((min - origin) / step) * step + origin; tick <= max; tick += step) ticks.push(tick);
  return ticks;
}

// A tick's date; within a day its hour, over more than a year with the year.
export function dateText(seconds, min, max) {
  const date = new Date(seconds * 1000);
  const format = (options) => date.toLocaleString("en-GB", { ...options, timeZone: ZONE });
  if (max - min < 1.5 * DAY) return format({ hour: "2-digit", minute: "2-digit" });
  const year = max - min > 330 * DAY ? { year: "numeric" } : {};
  return format({ day: "numeric", month: "short", ...year });
}

// The index of the time nearest to a pixel; null outside.
export function campaignUnder(scale, pixel, times) {
  if (pixel === null || !times.length) return null;
  const at = scale.getValueForPixel(pixel);
  if (at < scale.min || at > scale.max) return null;
  let nearest = 0;
  for (const [index, time] of times.entries()) {
    if (Math.abs(time - at) < Math.abs(times[nearest] - at)) nearest = index;
  }
  return nearest;
}

// The first and the last day of the marks within [from, to]; null without any. `days` has a pair of
// days for each mark.
export function daysWithin(times, days, [from, to]) {
  const inside = days.filter((_, index) => times[index] >= from && times[index] <= to);
  return inside.length ? { since: inside[0][0], until: inside.at(-1)[1] } : null;
}

// What is to be written beside events: those closer than `room` pixels together become one text.
// `events` are {x, text} in order; `noun` is their plural.
export function mergedLabels(events, room, noun) {
  const found = [];
  for (const { x, text } of events) {
    const last = found.at(-1);
    if (last && x - last.until < room) {
      last.until = x;
      last.count += 1;
      last.text = `${last.count} ${noun}`;
    } else {
      found.push({ x, until: x, count: 1, text });
    }
  }
  return found;
}

// The next place in a direction: among `places`, or any campaign. From nowhere: the newest going
// left, the oldest going right. The ends hold.
export function neighbour(at, step, count, places = null) {
  const all = places ?? Array.from({ length: count }, (_, i) => i);
  if (!all.length) return at;
  if (at === null) return step < 0 ? all.at(-1) : all[0];
  const beyond = all.filter((index) => (index - at) * step > 0);
  if (!beyond.length) return at;
  return step > 0 ? beyond[0] : beyond.at(-1);
}

// A range that shows small changes: from 0 only where the values come near it.
export function rangeAround(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (!known.length) return { min: 0, max: 1 };
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const step = stepOf((high - low || high || 1) / 4);
  const min = low < (high - low) / 2 ? 0 : Math.max(0, Math.floor(low / step - 0.3) * step);
  return { min: tidy(min), max: tidy(Math.ceil(high / step + 0.1) * step) };
}

function stepOf(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].find((each) => each * power >= size * 0.999) * power;
}

function tidy(value) {
  return Number(value.toPrecision(10));
}

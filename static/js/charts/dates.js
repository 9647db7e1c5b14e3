// An axis of dates, in seconds since 1970.

const [MINUTE, HOUR, DAY] = [60, 3600, 86400];
const DAYS = [1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY);
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, ...DAYS];
const MONDAY = 4 * DAY; // the first one after 1 January 1970
// That of the reader, in which the server writes times.
const ZONE = globalThis.document?.documentElement.dataset.zone ?? "UTC";

// The seconds {min, max} that the axis shows, with room beside the first and the last mark.
export function timeSpan(times) {
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0];
  const room = last > first ? Math.max((last - first) * 0.02, MINUTE / 2) : 2 * HOUR;
  return { min: first - room, max: last + room };
}

// At most `most` round instants within [min, max]: whole minutes, hours, days, or Mondays.
export function dateTicks(min, max, most) {
  const step = STEPS.find((each) => (max - min) / each <= Math.max(1, most)) ?? STEPS.at(-1);
  const origin = step > 2 * DAY ? MONDAY : 0;
  const ticks = [];
  const [first, last] = [min + aheadOfUtc(min), max + aheadOfUtc(max)];
  for (let tick = Math.ceil((first - origin) / step) * step + origin; tick <= last; tick += step) {
    ticks.push(tick - aheadOfUtc(tick - aheadOfUtc(min)));
  }
  return ticks;
}

// By how many seconds the reader's clock is ahead then.
function aheadOfUtc(seconds) {
  const [own, utc] = [ZONE, "UTC"].map((timeZone) => Date.parse(new Date(seconds * 1000).toLocaleString("en-US", { timeZone })));
  return (own - utc) / 1000;
}

// A tick's date; within a day its hour, over more than a year with the year.
export function dateText(seconds, min, max) {
  const date = new Date(seconds * 1000);
  const format = (options) => date.toLocaleString("en-GB", { ...options, timeZone: ZONE });
  if (max - min < 1.5 * DAY) return format({ hour: "2-digit", minute: "2-digit" });
  const year = max - min > 330 * DAY ? { year: "numeric" } : {};
  return format({ day: "numeric", month: "short", ...year });
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

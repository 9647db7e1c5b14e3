// Campaigns along an axis, evenly spaced and numbered from 0. Pure.

// The numbers that get their date: at most `most`, evenly spread, the newest among them.
export function dateTicks(count, most) {
  const step = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(most))));
  const ticks = [];
  for (let index = count - 1; index >= 0; index -= step) ticks.unshift(index);
  return ticks;
}

// The campaign nearest to a pixel; null outside.
export function campaignUnder(scale, pixel, count) {
  if (pixel === null) return null;
  const index = Math.round(scale.getValueForPixel(pixel));
  return index < 0 || index >= count ? null : index;
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

// Where axes and their labels go. Pure. Figures come from the server with their text; what is written
// here are the ticks, round numbers that an axis itself chooses.

// The text, or as much of its beginning as fits, with an ellipsis.
export function shortened(text, room, widthOf) {
  if (widthOf(text) <= room) return text;
  let most = text.length - 1;
  while (most > 1 && widthOf(`${text.slice(0, most)}…`) > room) most -= 1;
  return `${text.slice(0, most).trimEnd()}…`;
}

// A tick as the round number it is, and no longer than the axis has room for.
export function tickText(value) {
  if (Math.abs(value) >= 1e6) return `${tickText(value / 1e6)}M`;
  if (Math.abs(value) >= 1e5) return `${tickText(value / 1e3)}k`;
  return Number(value.toPrecision(6)).toLocaleString("en").replace("-", "\u2212");
}

// Ticks 1 2 5 10 … within [low, high], thinned to at most `most`; a short axis has those between, too.
export function logTicks(low, high, most = 6) {
  const usual = logTicksOf(low, high, [1, 2, 5]);
  if (logTicksOf(low, high, [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8]).length < 2) return evenTicks(low, high, most);
  const close = usual.length < 4 ? [[1, 1.5, 2, 2.5, 3, 4, 5, 6, 8], [1, 2, 3, 4, 5, 7]] : [];
  for (const steps of [...close, [1, 2, 5], [1, 3], [1]]) {
    const ticks = logTicksOf(low, high, steps);
    if (ticks.length <= most) return ticks;
  }
  const decades = logTicksOf(low, high, [1]);
  const skip = Math.ceil(decades.length / most);
  return decades.filter((_, i) => i % skip === 0);
}

// Of an axis that is shorter than from one tick to the next.
function evenTicks(low, high, most) {
  const step = roundUp((high - low) / most);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high; n += 1) ticks.push(tidy(n * step));
  return ticks;
}

function logTicksOf(low, high, steps) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) {
      const tick = Number((step * 10 ** power).toPrecision(6));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

// A range around positive values for a logarithmic axis, opened to the next tick on both sides.
export function logRange(values) {
  const positive = values.filter((value) => value > 0);
  if (!positive.length) return { min: 1, max: 10 };
  return { min: tickAt(Math.min(...positive), false), max: tickAt(Math.max(...positive), true) };
}

function tickAt(value, up) {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((step) => Number((step * power).toPrecision(6)));
  if (up) return steps.find((step) => step > value * 1.02) ?? Number((20 * power).toPrecision(6));
  return [...steps].reverse().find((step) => step < value * 0.98) ?? power / 2;
}

// The smallest round number that is not below value: the top of an axis that starts at 0.
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((each) => each * power >= value * 0.999);
  return Number((step * power).toPrecision(6));
}

// Moves label positions (px) apart until `gap` lies between neighbours, all within [low, high].
export function pushApart(positions, gap, low, high) {
  const order = positions.map((_, i) => i).sort((a, b) => positions[a] - positions[b]);
  const placed = [...positions];
  let floor = low;
  for (const i of order) {
    placed[i] = Math.max(placed[i], floor);
    floor = placed[i] + gap;
  }
  let ceiling = high;
  for (const i of [...order].reverse()) {
    placed[i] = Math.min(placed[i], ceiling);
    ceiling = placed[i] - gap;
  }
  return placed;
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

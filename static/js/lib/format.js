// Figures as the pages write them: three significant digits, comma for thousands, true minus.

export const MINUS = "−";

function grouped(text) {
  const [whole, fraction] = text.split(".");
  const commas = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? commas : `${commas}.${fraction}`;
}

function decimalsFor(size, digits) {
  if (size === 0) return 0;
  return Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
}

// 1234.5 → "1,235"; 12.345 → "12.3"; 0 → "0"; nothing → "–".
export function figure(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const text = grouped(size.toFixed(decimalsFor(size, digits)));
  return value < 0 ? MINUS + text : text;
}

// A number as it is, without zeros at its end: 10 → "10", 59.995 → "59.995", −5 → "−5".
export function plain(value, digits = 6) {
  const text = grouped(String(Number(Math.abs(value).toPrecision(digits))));
  return value < 0 ? MINUS + text : text;
}

// What is counted is given in the plural: 1, "requests" → "1 request".
export function counted(value, nouns) {
  return `${plain(value, 12)} ${value === 1 ? nouns.replace(/ies$/, "ys").slice(0, -1) : nouns}`;
}

// Round ticks from 0 to at least `highest`: about `count` steps of 1, 2 or 5 times a power of ten.
export function roundTicks(highest, count = 4) {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const ticks = [];
  for (let i = 0; i * step < highest + step * 0.999; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

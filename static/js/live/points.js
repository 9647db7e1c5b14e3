// The points of a run as the page keeps them: one a second, in order, whatever came twice or late;
// of a long run as many as the server sends of one. Pure: nothing here touches the page.

// As domain/presentation/thinning.py: the last five minutes, and the extremes of even stretches of the rest.
const MOST_POINTS = 1000;
const LAST_S = 300;
// To thin with every second would cost more than these few points.
const SPARE = 200;
const EXTREMES = [
  ["ok", -1], ["completed", 1], ["failed", 1], ["p50_ms", -1], ["p99_ms", 1], ["failed_p95_ms", 1], ["open", 1],
];

// Points from the columns in which the server sends them: {second: […], ok: […], …}.
export function pointsOf(columns) {
  const keys = Object.keys(columns ?? {});
  if (!keys.length) return [];
  return columns.second.map((_, i) => Object.fromEntries(keys.map((key) => [key, columns[key][i]])));
}

// The known points with the fresh ones; a second that came again replaces its earlier self.
export function mergePoints(known, fresh) {
  if (!fresh.length) return known;
  const last = known.length ? known[known.length - 1].second : -Infinity;
  if (fresh[0].second > last && inOrder(fresh)) return thinned(known.concat(fresh));
  const bySecond = new Map(known.map((point) => [point.second, point]));
  for (const point of fresh) bySecond.set(point.second, point);
  return thinned([...bySecond.values()].sort((a, b) => a.second - b.second));
}

// At most MOST_POINTS and some to spare. Where a second is missing among those that go, the next
// point that stays says so.
function thinned(points) {
  if (points.length <= MOST_POINTS + SPARE) return points;
  const kept = new Set(points.slice(-LAST_S));
  for (const stretch of stretchesOf(points.slice(0, -LAST_S))) {
    for (const [key, sign] of EXTREMES) keepExtreme(kept, stretch, key, sign);
  }
  let isAfterGap = false;
  return points.flatMap((point) => {
    isAfterGap ||= Boolean(point.gap);
    if (!kept.has(point)) return [];
    const shown = isAfterGap && !point.gap ? { ...point, gap: true } : point;
    isAfterGap = false;
    return [shown];
  });
}

// Equally long in time: what was thinned before must not become thinner than the rest.
function stretchesOf(points) {
  const first = points[0].second;
  const most = Math.floor((MOST_POINTS - LAST_S) / EXTREMES.length);
  const length = Math.ceil((points.at(-1).second + 1 - first) / most);
  const stretches = Array.from({ length: most }, () => []);
  for (const point of points) stretches[Math.floor((point.second - first) / length)].push(point);
  return stretches;
}

function keepExtreme(kept, stretch, key, sign) {
  const known = stretch.filter((point) => typeof point[key] === "number");
  if (known.length) kept.add(known.reduce((best, point) => (sign * point[key] > sign * best[key] ? point : best)));
}

function inOrder(points) {
  return points.every((point, i) => i === 0 || point.second > points[i - 1].second);
}

// {x, y} pairs of one figure. A missing second breaks the line (y is null there), as the server says:
// of a long run it leaves out points.
export function lineOf(points, value) {
  const line = [];
  for (const [i, point] of points.entries()) {
    const previous = points[i - 1];
    if (previous && point.gap) line.push({ x: previous.second + 1, y: null });
    line.push({ x: point.second, y: value(point) ?? null });
  }
  return line;
}

// The numbers of a line's points without a neighbour.
export function loneOf(line) {
  const isKnown = (i) => (line[i]?.y ?? null) !== null;
  return [...line.keys()].filter((i) => isKnown(i) && !isKnown(i - 1) && !isKnown(i + 1));
}

// A line as two, {firm, weak}, each broken where the other one goes on: a piece between two points is
// as weak as the point where it ends.
export function parted(line, isWeak) {
  const parts = { firm: [], weak: [] };
  const lone = new Set(loneOf(line));
  for (const [i, point] of line.entries()) {
    const previous = line[i - 1];
    const hasPiece = point.y !== null && (previous?.y ?? null) !== null;
    if (!hasPiece && !lone.has(i)) continue;
    const part = isWeak(point) ? parts.weak : parts.firm;
    if (part.length && part.at(-1) !== previous) part.push({ x: previous.x, y: null });
    if (hasPiece && part.at(-1) !== previous) part.push(previous);
    part.push(point);
  }
  return parts;
}

// Error kinds over all points, the most frequent first.
export function errorKinds(points) {
  const counts = new Map();
  for (const point of points) {
    for (const [kind, n] of Object.entries(point.errors || {})) {
      counts.set(kind, (counts.get(kind) || 0) + n);
    }
  }
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a.localeCompare(b));
}

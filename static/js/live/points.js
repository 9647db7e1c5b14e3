// The points of a run as the page keeps them: one a second, in order, whatever came twice or late.
// Pure: nothing here touches the page.

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
  if (fresh[0].second > last && inOrder(fresh)) return known.concat(fresh);
  const bySecond = new Map(known.map((point) => [point.second, point]));
  for (const point of fresh) bySecond.set(point.second, point);
  return [...bySecond.values()].sort((a, b) => a.second - b.second);
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

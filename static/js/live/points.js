// The points of a run as the page keeps them: one a second, in order, whatever came twice or late.
// Pure: nothing here touches the page.

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

// {x, y} pairs of one figure; a second without a point breaks the line (y is null there).
export function lineOf(points, value) {
  const line = [];
  for (const [i, point] of points.entries()) {
    const previous = points[i - 1];
    if (previous && point.second > previous.second + 1) line.push({ x: previous.second + 1, y: null });
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

// A percentile of n values is more than the luck of a few when ten lie beyond it.
export function isWeak(point, quantile) {
  return (point.ok || 0) * (1 - quantile) < 10 - 1e-9;
}

// How far a run is: measured seconds and the share of what was planned (null where unknown).
export function progressOf(points, planned) {
  const last = points.length ? points[points.length - 1].second : null;
  const measured = last === null ? 0 : Math.max(0, last + 1);
  const completed = points.reduce((n, p) => n + (p.second < 0 ? 0 : p.ok + p.failed), 0);
  const limit = planned.seconds || planned.requests;
  const done = planned.seconds ? measured : completed;
  return {
    isWarmUp: last !== null && last < 0,
    measured: planned.seconds ? Math.min(measured, Math.ceil(planned.seconds)) : measured,
    completed,
    share: limit ? Math.min(1, done / limit) : null,
  };
}

// The last complete second as the line "now" shows it.
export function latest(points) {
  for (let i = points.length - 1; i >= 0; i -= 1) {
    if (points[i].ok + points[i].failed > 0) return points[i];
  }
  return null;
}

// What a campaign's stream told of each run. Pure: nothing here touches the page.

import { mergePoints, pointsOf } from "./points.js";

// A page that is fetched slowly names a run when the seconds of later runs have come.
const MOST_RUNS = 8;

// of(run): its {points, now}; told(news) adds what came; took(run, columns) what the page had.
export function toldRuns() {
  const runs = new Map();

  function keep(run, points, now) {
    runs.delete(run);
    runs.set(run, { points, now });
    for (const oldest of [...runs.keys()].slice(0, -MOST_RUNS)) runs.delete(oldest);
  }

  function of(run) {
    return runs.get(run) ?? { points: [], now: {} };
  }

  function told({ run, points, all, now }) {
    keep(run, mergePoints(all ? [] : of(run).points, pointsOf(points)), now);
  }

  function took(run, columns) {
    const points = pointsOf(columns);
    if (points.length) keep(run, points, of(run).now);
  }

  return { of, told, took };
}

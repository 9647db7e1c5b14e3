// Every second of a stretch of a long run, of which the page has only some: asked for when it is looked
// at, and kept as long as the page.

import $ from "jquery";
import { pointsOf } from "../live/points.js";

// of(address, [from, until]): {points, machine}; null until they are there, when `came` is called.
export function stretches(came) {
  const known = new Map();

  function ask(key, address, [from, until]) {
    known.set(key, null);
    $.getJSON(address, { from, until }).then(
      ({ points, machine }) => {
        known.set(key, { points: pointsOf(points), machine: pointsOf(machine) });
        came();
      },
      () => known.delete(key), // the page's own points are shown, and it is asked again
    );
  }

  function of(address, stretch) {
    if (!address || !stretch) return null;
    const key = `${address} ${stretch}`;
    if (!known.has(key)) ask(key, address, stretch);
    return known.get(key) ?? null;
  }

  return { of };
}

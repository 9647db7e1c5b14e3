// Charts for those who read them: a pointer or the arrow keys say the figures of one place in the title
// lines, a table has them all, and a range is chosen by dragging. What happens to an element that may be
// replaced is heard at the document.

import $ from "jquery";
import { groupAt } from "./chart.js";
import { nextPlace, placesWithin, wordsAt } from "./figures.js";
import { fillTable } from "./tools.js";

const LEAST_PX = 8; // dragged: less is a click
const LEAST_NEAR_PX = 24; // from a mark that a click may mean
let pointer = {}; // where it was moved to last
document.addEventListener("pointermove", ({ clientX, clientY }) => (pointer = { clientX, clientY }));

// After a group was drawn: what it read is said of its new figures.
export function follow(group) {
  read(group, group.spec.places.x.includes(group.at) ? group.at : null);
  fillTable(group);
}

function read(group, x) {
  group.at = x;
  for (const panel of group.drawn) {
    group.figureOf(panel).querySelector(".readout").textContent = x === null ? "" : wordsAt(group.spec, panel, x);
  }
  for (const chart of group.charts.values()) if (chart.at !== x) Object.assign(chart, { at: x }).draw();
}

// Where a place or a point leads: an anchor of this page, whose fold opens; what begins with & is added
// to the page's own query; or another page.
function open(link) {
  if (!link) return;
  const url = new URL(window.location);
  const [query, hash] = link.split("#");
  const anchor = hash && document.getElementById(hash);
  if (anchor) {
    $(anchor).closest("details").prop("open", true);
    if (url.hash === `#${hash}`) anchor.querySelector("a")?.click();
    window.location.hash = hash;
  } else if (query.startsWith("&")) {
    for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
    url.hash = hash ?? "";
    window.location.assign(url);
  } else {
    window.location.assign(link);
  }
}

function linkAt({ spec: { places }, drawn }, x) {
  const index = places.x.indexOf(x);
  if (places.links) return places.links[index];
  const points = drawn.flatMap(({ series }) => series.filter(({ links }) => links));
  return points.flatMap((each) => each.x.flatMap((value, i) => (value === x ? [each.links[i]] : [])))[0];
}

// The link of the point that is nearest to a click.
function linkUnder(chart, event) {
  const { left, top } = chart.canvas.getBoundingClientRect();
  const { x, y } = chart.scales;
  const points = chart.panel.series.flatMap((each) => (each.links ?? []).map((link, i) => ({
    link,
    away: Math.hypot(x.getPixelForValue(each.x[i]) - event.clientX + left, y.getPixelForValue(each.y[i]) - event.clientY + top),
  })));
  const near = points.reduce((best, each) => (each.away < best.away ? each : best), { away: Infinity });
  return near.away < LEAST_NEAR_PX * 4 ? near.link : null;
}

$(document).on("keydown", "[data-charts]", (event) => {
  const group = groupAt(event.target);
  if (event.target !== event.currentTarget || !group?.drawn?.length) return;
  const { places } = group.spec;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.key === "Escape") read(group, null);
  if (event.key === "Enter" && group.at !== null) {
    if (group.hooks.enter) group.hooks.enter(group.at);
    else open(linkAt(group, group.at));
  }
  if (!step) return;
  event.preventDefault();
  group.isReadByKeys = true;
  read(group, nextPlace(event.shiftKey && places.stops ? places.stops : places.x, group.at, step));
});

// A pointer over a chart reads, drags and clicks.
export function watch(chart) {
  const { canvas } = chart;
  const pixelOf = ({ clientX }) => clientX - canvas.getBoundingClientRect().left;
  let from = null;
  let range = null;

  // A page that scrolls under a resting pointer takes no place from the keys.
  function point(event, x) {
    const rests = event.clientX === pointer.clientX && event.clientY === pointer.clientY;
    if (chart.group.isReadByKeys && rests) return;
    chart.group.isReadByKeys = false;
    read(chart.group, x);
  }

  function end() {
    from = null;
    range = null;
    chart.group.wash(null);
  }

  canvas.addEventListener("pointerdown", (event) => {
    read(chart.group, chart.group.placeUnder(chart, event));
    if (event.button !== 0) return;
    from = pixelOf(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    point(event, chart.group.placeUnder(chart, event));
    if (from === null || !choiceOf(chart.group)) return;
    const ends = [from, pixelOf(event)].sort((a, b) => a - b);
    range = ends[1] - ends[0] >= LEAST_PX ? ends.map((x) => chart.scales.x.getValueForPixel(x)) : null;
    chart.group.wash(range);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const chosen = range;
    end();
    if (chosen) choiceOf(chart.group)(chosen);
    else open(linkUnder(chart, event) ?? (chart.group.spec.places.links && linkAt(chart.group, chart.group.at)));
  });
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", (event) => point(event, null));
}

// What a dragged range does, or null where none may be chosen.
function choiceOf({ hooks, spec: { places } }) {
  if (hooks.range) return hooks.canChoose() ? hooks.range : null;
  if (!places.asks) return null;
  return ([from, until]) => {
    const asked = placesWithin(places, from, until);
    if (asked) open(`&${new URLSearchParams(asked)}`);
  };
}

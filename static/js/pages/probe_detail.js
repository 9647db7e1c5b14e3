// The page of a single request: looks again each second until there is an answer, then draws it.

import $ from "../../lib/jquery.module.min.js";
import { drawWaterfall } from "../charts/waterfall.js";
import { refreshPage } from "../live/regions.js";

const EVERY_MS = 1000;
const GIVE_UP_MS = 150_000;
const began = Date.now();

function draw() {
  const parts = $("[data-parts] [data-part]").get().map(({ dataset }) => ({
    name: dataset.part,
    start: Number(dataset.start),
    duration: Number(dataset.duration),
    text: dataset.text,
  }));
  $("[data-waterfall]").each((_, svg) => drawWaterfall(svg, parts));
}

function step() {
  if ($("[data-live=probe]").data("finished") === "yes") draw();
  else if (Date.now() - began < GIVE_UP_MS) setTimeout(look, EVERY_MS);
}

// The site may be away for a moment: the next look will tell.
function look() {
  refreshPage().catch(() => {}).finally(step);
}

let width = innerWidth;
$(window).on("resize", () => {
  if (innerWidth !== width) draw();
  width = innerWidth;
});
step();

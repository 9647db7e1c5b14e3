// The page of a single request: looks again each second until there is an answer, then draws it.

import { drawWaterfall } from "../charts/waterfall.js";
import { refetchPage, replaceLive } from "../lib/http.js";

const EVERY_MS = 1000;
const GIVE_UP_MS = 150_000;
const began = Date.now();

function live() {
  return document.querySelector("[data-live=probe]");
}

function draw() {
  const svg = document.querySelector("[data-waterfall]");
  const rows = document.querySelectorAll("[data-parts] [data-part]");
  if (!svg) return;
  const parts = [...rows].map(({ dataset }) => ({
    name: dataset.part,
    start: Number(dataset.start),
    duration: Number(dataset.duration),
    text: dataset.text,
  }));
  drawWaterfall(svg, parts);
}

async function look() {
  try {
    replaceLive(await refetchPage());
  } catch {
    // The site is away for a moment: the next look will tell.
  }
  step();
}

function step() {
  if (live().dataset.finished === "yes") draw();
  else if (Date.now() - began < GIVE_UP_MS) setTimeout(look, EVERY_MS);
}

let width = innerWidth;
window.addEventListener("resize", () => {
  if (innerWidth !== width) draw();
  width = innerWidth;
});
step();

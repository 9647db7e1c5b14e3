// The page of a single request: looks again each second until there is an answer.

import $ from "jquery";
import { refreshPage } from "../live/regions.js";

const EVERY_MS = 1000;
const GIVE_UP_MS = 150_000;
const began = Date.now();

function lookLater() {
  const isWaiting = $("[data-live=probe]").attr("data-finished") === "no";
  if (isWaiting && Date.now() - began < GIVE_UP_MS) setTimeout(look, EVERY_MS);
}

// The site may be away for a moment: the next look will tell.
function look() {
  refreshPage().catch(() => {}).finally(lookLater);
}

lookLater();

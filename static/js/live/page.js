// What campaign and run pages share: the stream, the regions, and a line that says when it is stale.

import { coalesced } from "./coalesced.js";
import { refreshPage } from "./regions.js";
import { followPage } from "./stream.js";

// The badge of the run that this page follows, while it is sending.
const SENDING = '.now-line .badge[data-state="running"], [data-sending]';

// Reads a JSON block of the page; null where the page has none.
export function block(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

// Follows the page's stream. second({run, points}) comes with each second; replaced(names) after
// regions were replaced by a newer copy of the page.
export function livePage({ second, replaced }) {
  const element = document.getElementById("live");
  const ask = coalesced(async () => {
    replaced(await refreshPage());
  });
  followPage(element, {
    second,
    state: ask,
    end: ask,
    reopened: ask,
    stale: tellStale,
    expectsSeconds: () => document.querySelector(SENDING) !== null,
  });
  return ask;
}

function tellStale(isStale, lastAt) {
  const line = document.querySelector("[data-progress]");
  if (!line) return;
  line.classList.toggle("is-stale", isStale);
  line.querySelector(".stale-words")?.remove();
  if (!isStale) return;
  const words = document.createElement("span");
  words.className = "stale-words";
  words.setAttribute("role", "status");
  words.textContent = `last update ${new Date(lastAt).toISOString().slice(11, 19)}, trying again`;
  line.append(words);
}

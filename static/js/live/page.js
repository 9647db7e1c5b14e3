// What campaign and run pages share: the stream, the regions, and a line that says when it is stale.

import $ from "../../lib/jquery.module.min.js";
import { coalesced } from "./coalesced.js";
import { refreshPage } from "./regions.js";
import { followPage } from "./stream.js";

// The badge of the run that this page follows, while it is sending.
const SENDING = '.now-line .badge[data-state="running"], [data-sending]';

// Reads a JSON block of the page; null where the page has none.
export function block(id) {
  const element = $(`#${id}`);
  return element.length ? JSON.parse(element.text()) : null;
}

// Follows the page's stream. second({run, points}) comes with each second; replaced(names) after
// regions were replaced by a newer copy of the page.
export function livePage({ second, replaced }) {
  const ask = coalesced(async () => {
    replaced(await refreshPage());
  });
  followPage(document.getElementById("live"), {
    second,
    state: ask,
    end: ask,
    reopened: ask,
    stale: tellStale,
    expectsSeconds: () => $(SENDING).length > 0,
  });
  return ask;
}

function tellStale(isStale, lastAt) {
  const line = $("[data-progress]").first().toggleClass("is-stale", isStale);
  line.find(".stale-words").remove();
  if (!isStale) return;
  const at = new Date(lastAt).toISOString().slice(11, 19);
  line.append($("<span>", { class: "stale-words", role: "status", text: `last update ${at}, trying again` }));
}

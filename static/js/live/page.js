// What campaign and run pages share: the stream, the regions, and a line that says when it is stale.

import $ from "jquery";
import { coalesced } from "./coalesced.js";
import { refreshPage } from "./regions.js";
import { followPage } from "./stream.js";

// The line of the run that this page follows, while it is sending.
const SENDING = "[data-sending]";

// Follows the page's stream. second({run, points}) comes with each second; replaced(names) after
// regions were replaced by a newer copy of the page, fetched every data-refresh seconds of a run, and
// less often where many follow it.
export function livePage({ second, replaced }) {
  const live = document.getElementById("live");
  let every = Number(live.dataset.refresh);
  let fetched = -Infinity;
  let spreadMs = 0;
  const ask = coalesced(
    async () => {
      const names = await refreshPage();
      if (names) replaced(names);
      return Boolean(names);
    },
    { spreadMs: () => spreadMs },
  );
  followPage(live, {
    second(news) {
      second(news);
      // After the first one too: words and tiles must not say that nothing came yet.
      const newest = news.points.second.at(-1);
      if (Math.abs(newest - fetched) < every) return;
      fetched = newest;
      ask();
    },
    state: ask,
    end: ask,
    reopened: ask,
    beat(told) {
      spreadMs = told.spread_ms;
      every = Math.max(Number(live.dataset.refresh), told.refresh_s);
    },
    stale: tellStale,
    expectsSeconds: () => $(SENDING).length > 0,
  });
}

// The server's words for how far the run under way is: JavaScript puts no figure into words.
export function showProgress({ share, words, measured, left }) {
  const line = $("[data-run-progress]");
  line.find("progress").val(share);
  line.find("[data-progress-words]").text(words);
  line.find("[data-progress-left]").text(left && ` · ${left}`);
  $("[data-measured]").text(`What it measured in ${measured}`);
}

function tellStale(isStale, lastAt) {
  const line = $("[data-progress]").first().toggleClass("is-stale", isStale);
  line.find(".stale-words").remove();
  if (!isStale) return;
  const { zone } = document.documentElement.dataset;
  const at = new Date(lastAt).toLocaleTimeString("en-GB", { timeZone: zone });
  line.append($("<span>", { class: "stale-words", role: "status", text: `last update ${at}, trying again` }));
}

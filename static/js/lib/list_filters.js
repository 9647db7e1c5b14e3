// The filters of a list apply a moment after the last change: the server's newer copy of the page
// replaces the rows, and the address keeps what was chosen.

import $ from "jquery";
import { replaceRegions } from "../live/regions.js";

const PAUSE_MS = 300;

// changed() is called after the rows were replaced.
export function watchFilters(changed) {
  const form = $("[data-filters]");
  if (!form.length) return;
  let timer = 0;
  let asked = null;

  function ask() {
    clearTimeout(timer);
    asked?.abort();
    // The address names only what is chosen.
    const chosen = form.serializeArray().filter(({ value }) => value !== "");
    const address = `${location.pathname}?${$.param(chosen)}`;
    asked = $.get(address)
      .done((html) => {
        if (!replaceRegions(html)) return location.assign(address); // signed out: that page says so
        history.replaceState(history.state, "", address);
        changed();
      })
      .fail((_, why) => why === "abort" || location.assign(address));
  }

  form
    .on("input", () => {
      clearTimeout(timer);
      timer = setTimeout(ask, PAUSE_MS);
    })
    .on("submit", (event) => {
      event.preventDefault();
      ask();
    })
    .on("click", ".filter-chip-x", (event) => {
      event.preventDefault();
      $(event.currentTarget).closest(".filter-chip").find("select").val("").trigger("focus");
      ask();
    });
}

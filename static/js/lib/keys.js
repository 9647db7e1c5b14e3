// Keys of every page: `/` search, `n` new, `g` then a letter for a place, `?` lists them.

import $ from "jquery";

const PLACES = { c: "campaigns", t: "targets", p: "plans", h: "history", i: "injectors" };
const CHORD_MS = 1500;
let chordUntil = 0;

function focusSearch(event) {
  const field = $("[data-search]:visible").first();
  if (!field.length) return;
  event.preventDefault();
  field.trigger("focus");
}

function follow(selector) {
  $(selector).get(0)?.click();
}

// What takes letters itself keeps them, and so does an open dialog.
const TAKES_KEYS = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], dialog[open]";

export const isForKeys = (event) =>
  !(event.ctrlKey || event.metaKey || event.altKey || $(event.target).closest(TAKES_KEYS).length);

$(document).on("keydown", (event) => {
  if (!isForKeys(event)) return;
  if (Date.now() < chordUntil) {
    chordUntil = 0;
    if (PLACES[event.key]) follow(`[data-place="${PLACES[event.key]}"]`);
    return;
  }
  if (event.key === "g") chordUntil = Date.now() + CHORD_MS;
  if (event.key === "/") focusSearch(event);
  if (event.key === "n") follow("[data-key=n]");
  if (event.key === "?") $("#keys").get(0)?.showModal();
});

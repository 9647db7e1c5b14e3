// Keys of every page: `/` search, `n` new, `g` then a letter for a place, `?` lists them.

const PLACES = { c: "campaigns", t: "targets", p: "plans", h: "history", i: "injectors" };
const CHORD_MS = 1500;
let chordUntil = 0;

function isTyping(target) {
  return Boolean(target.closest("input, textarea, select, [contenteditable]"));
}

function follow(selector) {
  const link = document.querySelector(selector);
  if (link) link.click();
}

function focusSearch(event) {
  const field = document.querySelector("[data-search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
}

function press(event) {
  if (Date.now() < chordUntil) {
    chordUntil = 0;
    if (PLACES[event.key]) follow(`[data-place="${PLACES[event.key]}"]`);
    return;
  }
  if (event.key === "g") chordUntil = Date.now() + CHORD_MS;
  if (event.key === "/") focusSearch(event);
  if (event.key === "n") follow("[data-key=n]");
  if (event.key === "?") document.getElementById("keys")?.showModal();
}

export function initKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    press(event);
  });
}

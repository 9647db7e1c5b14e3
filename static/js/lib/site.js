// What every page starts: theme switch, menus, keys, questions before what cannot be undone.

import { initKeys } from "./keys.js";
import { initMenus } from "./menu.js";
import { initTheme } from "./theme.js";

// A form or button with data-confirm asks once, in its own words, before it is sent.
function askBeforeSending(event) {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
}

function focusFirstError() {
  const wrong = [...document.querySelectorAll("[aria-invalid=true]")];
  wrong.find((field) => field.offsetParent)?.focus();
}

initTheme();
initMenus();
initKeys();
document.addEventListener("submit", askBeforeSending);
focusFirstError();

// What every page starts: theme switch, menus, keys, dialogs, questions before what cannot be undone.

import $ from "jquery";
import "./dialogs.js";
import "./keys.js";
import "./menu.js";
import "./theme.js";
import "./zone.js";

// A form or button with data-confirm asks once, in its own words, before it is sent.
$(document).on("submit", (event) => {
  const button = event.originalEvent?.submitter;
  const question = button?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

// On a narrow screen the settings are a row that scrolls.
$(".settings-nav [aria-current]")[0]?.scrollIntoView({ block: "nearest", inline: "center" });

$("[aria-invalid=true]:visible").first().trigger("focus");

// The field for a URL or a request: Enter sends it, Shift + Enter begins a line.

import $ from "jquery";

$("textarea[name=what]").on("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.originalEvent.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

// The page of "What do you want to measure?": Enter tries, answers arrive.

import $ from "jquery";
import "./probe_detail.js";

$("[data-measure] textarea").on("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.originalEvent.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

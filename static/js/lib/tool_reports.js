// A report in the style of another tool is made when it is opened for the first time; without this
// script its link leads to it.

import $ from "jquery";

// `toggle` does not bubble.
document.addEventListener("toggle", ({ target }) => {
  if (target.open && target.matches?.(".tool-report")) show($(target));
}, true);

async function show(report) {
  const text = report.find(".report-text");
  if (!text.prop("hidden")) return;
  text.text("Making the report \u2026").prop("hidden", false);
  try {
    text.text(await $.get(report.find("a").attr("href")));
  } catch {
    text.prop("hidden", true); // the link is still there, and opening it again tries again
  }
}

// Buttons with data-copy copy the text of the element of that id; where the browser refuses, they
// select it. What they copy was the answer to a form: who reloads it gets data-reload instead, because
// to send the form again would make another link or token.

import $ from "jquery";

$(document).on("click", "[data-copy]", async (event) => {
  const button = $(event.currentTarget);
  const source = $(`#${button.data("copy")}`).get(0);
  const said = button.siblings("[role=status]");
  try {
    await navigator.clipboard.writeText(source.textContent);
    said.text("Copied.");
  } catch {
    window.getSelection().selectAllChildren(source);
    said.text("Selected: copy it with the keyboard.");
  }
});

$("[data-reload]").each((_, { dataset }) => window.history.replaceState(null, "", dataset.reload));

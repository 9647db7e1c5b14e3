// Buttons with data-dialog open the dialog of that id; data-close closes the one they are in.

import $ from "jquery";

$(document)
  .on("click", "[data-dialog]", (event) => $(`#${event.currentTarget.dataset.dialog}`).get(0)?.showModal())
  .on("click", "[data-close]", (event) => event.currentTarget.closest("dialog").close());

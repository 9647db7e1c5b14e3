// A click on a row of the errors opens the row's examples, and another closes them. The row's link does
// the same with Enter; without this script it leads to them.

import $ from "jquery";

$(document).on("click", ".error-row", (event) => {
  const [examples] = $(event.currentTarget).next(".example-row").find("details");
  const isReading = String(window.getSelection()).length > 0;
  if (!examples || isReading) return;
  event.preventDefault();
  examples.open = !examples.open;
});

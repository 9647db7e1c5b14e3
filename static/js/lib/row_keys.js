// Keys of a list: `j` and `k` go to the next and previous row's link, which Enter opens; `x` ticks
// the row, with Shift all rows from the last tick on.

import $ from "jquery";
import { isForKeys } from "./keys.js";

function goBy(step) {
  const links = $(".items tbody th.name > a, .history-table tbody th.name > a");
  const rows = links.closest("tr");
  const now = rows.index($(document.activeElement).closest("tr"));
  links.eq(now < 0 ? 0 : Math.min(Math.max(now + step, 0), links.length - 1)).trigger("focus");
}

function tick(event) {
  const box = $(document.activeElement).closest("tr").find("input[form=bulk][name=pk]").get(0);
  box?.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: event.shiftKey }));
}

export function watchRowKeys() {
  $(document).on("keydown", (event) => {
    if (!isForKeys(event)) return;
    if (event.key === "j") goBy(1);
    if (event.key === "k") goBy(-1);
    if (event.key.toLowerCase() === "x") tick(event);
  });
}

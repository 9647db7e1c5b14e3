// The ticks of a list: how many there are, all of a page at once, Shift for a range, Escape for none.
// While there are some, what can be done with them stands in the place of the filters.

import $ from "jquery";

const boxes = () => $("input[form=bulk][name=pk]");
let last = null;

export const hasTicks = () => boxes().is(":checked");

// Again after the rows were replaced.
export function showTicks() {
  const ticked = boxes().filter(":checked").length;
  const isAll = $("#bulk [name=all]").is(":checked");
  $("#bulk, .list-tools").toggleClass("is-ticked", isAll || ticked > 0);
  $("[data-bulk-words]").text(isAll ? "All selected" : `${ticked} selected`);
  boxes().each((_, box) => $(box).closest("tr").toggleClass("selected", box.checked || isAll));
  $(".tick[hidden]").prop("hidden", false);
  const page = $("[data-tick-page]").get(0);
  if (page) {
    page.checked = ticked > 0 && ticked === boxes().length;
    page.indeterminate = ticked > 0 && !page.checked;
  }
}

function tickRange(event) {
  const all = boxes().toArray();
  const [from, to] = [all.indexOf(last), all.indexOf(event.target)].sort((a, b) => a - b);
  if (event.shiftKey && from >= 0) {
    all.slice(from, to + 1).forEach((box) => { box.checked = event.target.checked; });
  }
  last = event.target;
  showTicks();
}

function tickAll(isTicked) {
  boxes().prop("checked", isTicked);
  if (!isTicked) $("#bulk [name=all]").prop("checked", false);
  showTicks();
}

export function watchTicks() {
  if (!$("#bulk").length) return;
  $(document)
    .on("click", "input[form=bulk][name=pk]", tickRange)
    .on("change", "#bulk [name=all]", showTicks)
    .on("change", "[data-tick-page]", (event) => tickAll(event.target.checked))
    .on("click", "[data-untick]", () => tickAll(false))
    .on("keydown", ({ key, target }) => {
      if (key === "Escape" && hasTicks() && !$(target).closest("details[open], dialog[open]").length) tickAll(false);
    });
  $(window).on("pageshow", showTicks);
  showTicks();
}

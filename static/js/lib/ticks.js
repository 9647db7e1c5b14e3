// The ticks of a list: how many there are, all of a page at once, Shift for a range.

import $ from "jquery";

const boxes = () => $("input[form=bulk][name=pk]");
let last = null;

export const hasTicks = () => boxes().is(":checked");

function tell() {
  const ticked = boxes().filter(":checked").length;
  const isAll = $("#bulk [name=all]").is(":checked");
  const isAny = isAll || ticked > 0;
  $("#bulk").toggleClass("is-ticked", isAny).find("button").prop("disabled", !isAny);
  $("[data-bulk-words]").text(isAll ? "All selected" : ticked ? `${ticked} selected` : "Tick rows to change them");
  $("[data-bulk-compare]").text(ticked && !isAll ? `Compare ${ticked}` : "Compare");
  boxes().each((_, box) => $(box).closest("tr").toggleClass("selected", box.checked || isAll));
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
  tell();
}

export function watchTicks() {
  if (!$("#bulk").length) return;
  $(document)
    .on("click", "input[form=bulk][name=pk]", tickRange)
    .on("change", "#bulk [name=all]", tell)
    .on("change", "[data-tick-page]", (event) => {
      boxes().prop("checked", event.target.checked);
      tell();
    });
  $(".tick[hidden]").prop("hidden", false);
  $("#bulk").addClass("is-scripted");
  $(window).on("pageshow", tell);
  tell();
}

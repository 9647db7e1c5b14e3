// Lists: filters apply at once, running campaigns move, ticked rows change or compare.

import $ from "../../lib/jquery.module.min.js";
import { watchRowKeys } from "../lib/row_keys.js";
import { hasTicks, watchTicks } from "../lib/ticks.js";
import { refreshPage } from "../live/regions.js";

const REFRESH_MS = 5000;

// A day that is typed changes with every digit: it applies when it is left, or by Enter.
let typedDay = null;

function applyFilters({ currentTarget, target }) {
  if (target !== typedDay) currentTarget.requestSubmit();
}

function leaveDay({ target }) {
  typedDay = null;
  if (target.value !== target.defaultValue) target.form.requestSubmit();
}

// The address names only what is chosen.
$("[data-submits-on-change]")
  .on("submit", (event) => {
    $(event.target).find(":input[name]").filter((_, field) => field.value === "").prop("disabled", true);
  })
  .on("keydown", "[type=date]", ({ target }) => { typedDay = target; })
  .on("pointerdown", "[type=date]", () => { typedDay = null; })
  .on("focusout", "[type=date]", leaveDay)
  .on("change", applyFilters);

if ($("[data-moving]").length) {
  setInterval(() => document.hidden || hasTicks() || refreshPage().catch(() => {}), REFRESH_MS);
}

watchTicks();
watchRowKeys();

function tellCompare() {
  const boxes = $("#compare input[name=run]");
  const ticked = boxes.filter(":checked").length;
  const button = $("[data-compare]");
  const fits = ticked >= 2 && ticked <= button.data("compare");
  button.prop("disabled", !fits).text(fits ? `Compare ${ticked}` : "Compare");
  boxes.each((_, box) => $(box).closest("tr").toggleClass("selected", box.checked));
}

$("#compare").on("change", tellCompare);
tellCompare();
// Who comes back finds in the filters what was chosen to leave, above the rows of the address.
function undoChoice({ originalEvent }) {
  const [{ type }] = performance.getEntriesByType("navigation");
  if (originalEvent.persisted || type === "back_forward") $("[data-submits-on-change]").trigger("reset");
}

$(window).on("pageshow", (event) => {
  $(".filters [disabled]").prop("disabled", false);
  undoChoice(event);
  tellCompare();
});

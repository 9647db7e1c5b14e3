// Lists: filters apply at once, running campaigns move, ticked rows change or compare.

import $ from "jquery";
import { watchFilters } from "../lib/list_filters.js";
import { watchRowKeys } from "../lib/row_keys.js";
import { hasTicks, showTicks, watchTicks } from "../lib/ticks.js";
import { isChanged } from "../live/preview.js";
import { refreshPage } from "../live/regions.js";

const REFRESH_MS = 5000;
const UNDO_MS = 10_000; // later it is in the trash, or among the archived

// What keys type or choose changes with each of them: it applies when it is left, or by Enter.
const CHANGES_BY_KEYS = "[type=date], select";
let keyed = null;

function applyFilters({ currentTarget, target }) {
  if (target !== keyed) currentTarget.requestSubmit();
}

function leaveKeyed({ target }) {
  keyed = null;
  if (isChanged(target)) target.form.requestSubmit();
}

// The address names only what is chosen.
$("[data-submits-on-change]")
  .on("submit", (event) => {
    $(event.target).find(":input[name]").filter((_, field) => field.value === "").prop("disabled", true);
  })
  .on("keydown", CHANGES_BY_KEYS, ({ target }) => { keyed = target; })
  .on("pointerdown", CHANGES_BY_KEYS, () => { keyed = null; })
  .on("focusout", CHANGES_BY_KEYS, leaveKeyed)
  .on("change", applyFilters);

setInterval(() => {
  if ($("[data-moving]").length && !document.hidden && !hasTicks()) refreshPage().catch(() => {});
}, REFRESH_MS);

function tellCompare() {
  const boxes = $("#compare input[name=run]");
  const ticked = boxes.filter(":checked").length;
  const button = $("[data-compare]");
  const fits = ticked >= 2 && ticked <= button.data("compare");
  button.prop("disabled", !fits).text(fits ? `Compare ${ticked}` : "Compare");
  boxes.each((_, box) => $(box).closest("tr").toggleClass("selected", box.checked));
}

setTimeout(() => $("[data-undo]").remove(), UNDO_MS);
watchTicks();
watchRowKeys();
watchFilters(() => {
  showTicks();
  tellCompare();
});
$(document).on("change", "#compare", tellCompare);
tellCompare();

// Who comes back finds in the filters what was chosen to leave, above the rows of the address.
function undoChoice({ originalEvent }) {
  const [{ type }] = performance.getEntriesByType("navigation");
  const forms = originalEvent.persisted ? "[data-submits-on-change]" : "[data-submits-on-change], [data-filters]";
  if (originalEvent.persisted || type === "back_forward") $(forms).trigger("reset");
}

$(window).on("pageshow", (event) => {
  $(".filters [disabled]").prop("disabled", false);
  undoChoice(event);
  tellCompare();
});

// Lists of rows that can grow: [data-rows] with [data-row]s, a <template>, [data-add], [data-remove].
// A new row fires `rowadd`.

import $ from "../../lib/jquery.module.min.js";

const FIELDS = "input, select, textarea";

function addRow(event) {
  const template = $(event.currentTarget).closest("[data-rows]").find("template").first();
  const row = $(template.prop("content")).find("[data-row]").clone();
  row.find("[data-remove]").prop("hidden", false);
  row.insertBefore(template).trigger("rowadd").find(FIELDS).first().trigger("focus");
}

function removeRow(event) {
  const row = $(event.currentTarget).closest("[data-row]");
  const next = row.next("[data-row]").find(FIELDS).add(row.closest("[data-rows]").find("[data-add]"));
  row.remove();
  next.first().trigger("focus");
}

$("[data-rows]").find("[data-add], [data-remove]").prop("hidden", false);
$(document).on("click", "[data-add]", addRow).on("click", "[data-remove]", removeRow);

// Lists of rows that can grow: [data-rows] with [data-row]s, a <template>, [data-add], [data-remove].
// A new row fires `rowadd`.

import $ from "jquery";

const FIELDS = "input, select, textarea";

function addRow(list) {
  const template = $(list).find("template").first();
  const row = $(template.prop("content")).find("[data-row]").clone();
  row.find("[data-remove]").prop("hidden", false);
  return row.insertBefore(template).trigger("rowadd");
}

function removeRow(event) {
  const row = $(event.currentTarget).closest("[data-row]");
  const next = row.next("[data-row]").find(FIELDS).add(row.closest("[data-rows]").find("[data-add]"));
  row.remove();
  next.first().trigger("focus");
}

// The lists of a form, for lib/typed.js.
export function rowLists(form) {
  return form.find("[data-rows]").get().map((list) => {
    const rows = () => $(list).find("[data-row]");
    function resize(n) {
      rows().slice(n).remove();
      while (rows().length < n) addRow(list);
    }
    return { count: () => rows().length, resize };
  });
}

$("[data-rows]").find("[data-add], [data-remove]").prop("hidden", false);
$(document)
  .on("click", "[data-add]", ({ currentTarget }) => {
    addRow($(currentTarget).closest("[data-rows]")).find(FIELDS).first().trigger("focus");
  })
  .on("click", "[data-remove]", removeRow);

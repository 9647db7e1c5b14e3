// Lists of rows that can grow: [data-rows] with [data-row]s, a <template>, [data-add], [data-remove].

function firstField(row) {
  return row.querySelector("input, select, textarea");
}

function addRow(list, onAdd) {
  const fresh = list.querySelector("template").content.cloneNode(true);
  const row = fresh.querySelector("[data-row]");
  list.querySelector("template").before(fresh);
  row.querySelector("[data-remove]").hidden = false;
  onAdd?.(row);
  firstField(row).focus();
}

function removeRow(list, row) {
  const next = row.nextElementSibling?.matches("[data-row]") ? row.nextElementSibling : null;
  row.remove();
  (next ? firstField(next) : list.querySelector("[data-add]")).focus();
}

export function initRows(list, { onAdd } = {}) {
  for (const button of list.querySelectorAll("[data-add], [data-remove]")) button.hidden = false;
  list.addEventListener("click", (event) => {
    if (event.target.closest("[data-add]")) addRow(list, onAdd);
    const remove = event.target.closest("[data-remove]");
    if (remove) removeRow(list, remove.closest("[data-row]"));
  });
}

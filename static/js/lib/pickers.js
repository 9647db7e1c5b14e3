// A picker is a list behind what is chosen: [data-picker], with a field that narrows the list. One
// row is chosen; "add another" lets several be ticked.

import $ from "jquery";

function close(picker, { focus = false } = {}) {
  picker.find("details").prop("open", false);
  if (focus) picker.find("summary").trigger("focus");
}

function narrow(picker) {
  const words = picker.find("[data-find]").val().toLowerCase().split(/\s+/);
  picker.find("li").each((_, row) => {
    const text = row.textContent.toLowerCase();
    $(row).prop("hidden", !words.every((word) => text.includes(word)));
  });
}

function onKey(event) {
  const picker = $(event.currentTarget);
  const rows = picker.find("li:not([hidden]) input");
  if (event.key === "Escape") close(picker, { focus: true });
  else if (event.target.matches("[data-find]") && event.key === "ArrowDown") rows.first().trigger("focus");
  else if (event.key === "Enter" && event.target.matches("[data-find]")) {
    if (rows.length) rows.first().prop("checked", true).trigger("input");
    close(picker, { focus: true });
  } else if (event.key === "Enter" && event.target.matches("li input")) close(picker, { focus: true });
  else return;
  event.preventDefault();
}

function takeSeveral(picker) {
  return picker.find("li input").prop("type", "checkbox").end();
}

export function addAnother(field) {
  takeSeveral($(`[data-picker=${field}]`)).find("details").prop("open", true);
}

// For lib/typed.js.
export const pickers = {
  count: () => $("[data-picker]").has("[type=checkbox]").get().map(({ dataset }) => dataset.picker),
  resize: (fields) => fields.forEach((field) => takeSeveral($(`[data-picker=${field}]`))),
};

$("[data-picker]")
  .on("keydown", onKey)
  // What is searched for is no part of the form.
  .on("input", "[data-find]", (event) => {
    event.stopPropagation();
    narrow($(event.delegateTarget));
  })
  .on("click", "li label", (event) => {
    if ($(event.currentTarget).find("input").prop("type") === "radio" && event.detail) close($(event.delegateTarget));
  });
// "toggle" does not bubble.
$("[data-picker] details").on("toggle", ({ target }) => {
  if (target.open) $(target).find("[data-find]").val("").trigger("input").trigger("focus");
});
$(document).on("pointerdown", ({ target }) => {
  $("[data-picker]").not($(target).closest("[data-picker]")).each((_, picker) => close($(picker)));
});

// The cards of a plan's steps: one open at a time, added, copied, moved and removed. Steps change
// places by their values: the fields stay.

import $ from "jquery";
import { showSaves } from "./saves.js";
import { copied, moved, without } from "./step_values.js";

const list = $("[data-steps]");
const template = list.children("template");
const form = list.closest("form");
const number = form.find("[name=n_steps]");
const adder = form.find("[data-step-add]");
const COUNTED = ["headers", "extract", "checks"];
let dragged = null;

function cards() {
  return list.children("[data-step]");
}

function fieldsOf(card) {
  return $(card).find("[name]").not(":file, :radio, button").get();
}

function plainName(field) {
  return field.name.replace(/^step\d+_/, "");
}

function details(card) {
  return $(card).children("details");
}

function valuesOf(card) {
  const values = fieldsOf(card).map((field) => [plainName(field), field.value]);
  return { ...Object.fromEntries(values), part: $(card).find(":radio:checked").val(), open: details(card).prop("open") };
}

function fill(card, values) {
  for (const field of fieldsOf(card)) field.value = values[plainName(field)] ?? "";
  $(card).find(":radio").val([values.part]);
  details(card).prop("open", values.open);
  $(card).find(".error").remove();
  showSaves(card);
}

function addCard() {
  const next = cards().length + 1;
  const html = template.html().replaceAll("step0_", `step${next}_`).replaceAll(/(up|down|copy|remove) 0/g, `$1 ${next}`);
  const card = $($.parseHTML(html)).filter("[data-step]").insertBefore(template);
  card.find("[data-step-number]").text(next);
  showSaves(card);
  return card;
}

// change: values of all steps → values of all steps
function rearrange(change) {
  const values = change(cards().get().map(valuesOf));
  stepList.resize(values.length);
  values.forEach((each, i) => fill(cards()[i], each));
  tell();
}

function tell() {
  adder.prop("hidden", cards().length >= Number(list.data("most")));
  cards().each((_, card) => showCounts(card));
  number.val(cards().length).trigger("input");
}

function showCounts(card) {
  for (const field of fieldsOf(card).filter((each) => COUNTED.includes(plainName(each)))) {
    const lines = field.value.split("\n").filter((line) => line.trim()).length;
    $(card).find(`[data-count=${plainName(field)}]`).text(lines || "");
  }
}

function indexOf(element) {
  return cards().index($(element).closest("[data-step]"));
}

function move(from, to) {
  rearrange((steps) => moved(steps, from, to));
  cards().eq(Math.min(Math.max(to, 0), cards().length - 1)).find("summary").trigger("focus");
}

// For lib/typed.js.
export const stepList = {
  count: () => cards().length,
  resize(n) {
    cards().slice(n).remove();
    while (cards().length < n) addCard();
    tell();
  },
};

const ACTS = {
  add: () => addCard().find("details").prop("open", true).find("[name$=path]").trigger("focus"),
  up: (i) => move(i, i - 1),
  down: (i) => move(i, i + 1),
  copy: (i) => rearrange((steps) => copied(steps, i)),
  remove: (i) => rearrange((steps) => without(steps, i)),
};

form.on("click", "[name=arrange]", (event) => {
  event.preventDefault();
  const [act] = event.currentTarget.value.split(" ");
  ACTS[act](indexOf(event.currentTarget));
  tell();
});
list
  .on("keydown", "summary", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!event.altKey || !by) return;
    event.preventDefault();
    const from = indexOf(event.currentTarget);
    move(from, from + by);
  })
  .on("input", "textarea", ({ target }) => showCounts($(target).closest("[data-step]")[0]))
  .on("dragstart", ".grip", ({ target, originalEvent }) => {
    dragged = indexOf(target);
    originalEvent.dataTransfer.setDragImage($(target).closest("summary")[0], 0, 0);
  })
  .on("dragover", "[data-step]", (event) => dragged !== null && event.preventDefault())
  .on("drop", "[data-step]", (event) => {
    event.preventDefault();
    move(dragged, indexOf(event.currentTarget));
    dragged = null;
  });
// "toggle" does not bubble. Faults stay in sight.
list[0]?.addEventListener(
  "toggle",
  ({ target }) => {
    if (!target.open || !target.matches(".step")) return;
    list.find("details.step").not(target).not(":has(.error)").prop("open", false);
  },
  true,
);
$(window).on("pageshow", () => showSaves(list)); // a browser that comes back has filled the fields in
showSaves(list);
tell();

// The step blocks of the plan form. Steps change places by their values: the fields stay. The first
// step is always in sight; the others are with the button that adds one.

import $ from "jquery";
import { moved, without } from "./step_values.js";

const further = $("[data-steps]");
const template = further.children("template");
const form = further.closest("form");
const number = form.find("[name=n_steps]");
const adder = form.find("[data-step-add]");

function blocks() {
  return form.find("[data-step]");
}

function fieldsOf(block) {
  return $(block).find("input, select, textarea").not(":file").get();
}

function plainName(field) {
  return field.name.replace(/^step\d+_/, "");
}

function valuesOf(block) {
  return Object.fromEntries(fieldsOf(block).map((field) => [plainName(field), field.value]));
}

function fill(block, values) {
  for (const field of fieldsOf(block)) field.value = values[plainName(field)] ?? "";
  $(block).find(".error").remove();
}

function addBlock() {
  const next = blocks().length + 1;
  const html = template.html().replaceAll("step0_", `step${next}_`);
  const block = $($.parseHTML(html)).filter("[data-step]").insertBefore(template);
  block.find("[data-step-number]").text(next);
  return block;
}

// change: (values of all steps, index of the one whose button was pressed) → values of all steps
function rearrange(change) {
  return (event) => {
    const all = blocks();
    const index = all.index($(event.target).closest("[data-step]"));
    const values = change(all.get().map(valuesOf), index);
    all.slice(values.length).remove();
    values.forEach((each, i) => fill(all[i], each));
    tell();
  };
}

function tell() {
  form.find("[data-step-buttons]").prop("hidden", false);
  adder.prop("hidden", blocks().length >= Number(further.data("most")));
  number.val(blocks().length).trigger("input");
}

// For lib/typed.js.
export const stepList = {
  count: () => blocks().length,
  resize(n) {
    blocks().slice(n).remove();
    while (blocks().length < n) addBlock();
    tell();
  },
};

adder.on("click", () => {
  const block = addBlock();
  tell();
  block.find("input").first().trigger("focus");
});
form
  .on("click", "[data-step-up]", rearrange((steps, i) => moved(steps, i, i - 1)))
  .on("click", "[data-step-down]", rearrange((steps, i) => moved(steps, i, i + 1)))
  .on("click", "[data-step-remove]", rearrange(without));
tell();

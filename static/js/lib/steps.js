// The step blocks of the plan form. Steps change places by their values: the fields stay.

import { moved, without } from "./step_values.js";

const NAMES = /^(step\d+_)?/;

function fieldsOf(block) {
  return [...block.querySelectorAll("input, select, textarea")].filter((field) => field.type !== "file");
}

function valuesOf(block) {
  return Object.fromEntries(fieldsOf(block).map((field) => [field.name.replace(NAMES, ""), field.value]));
}

function fill(block, values) {
  for (const field of fieldsOf(block)) field.value = values[field.name.replace(NAMES, "")] ?? "";
  for (const error of block.querySelectorAll(".error")) error.remove();
}

export function initSteps(form) {
  const list = form.querySelector("[data-steps]");
  const template = list.querySelector("[data-step-template]");
  const blocks = () => [...list.querySelectorAll(":scope > [data-step]")];

  function show() {
    const all = blocks();
    form.elements.n_steps.value = all.length;
    const kind = form.querySelector("input[name=order_kind]:checked")?.value;
    form.querySelector("[data-order-rows]").hidden = all.length === 1;
    for (const row of form.querySelectorAll("[data-order-row]")) {
      row.hidden = all.length === 1 || row.dataset.orderRow !== kind;
    }
    for (const words of form.querySelectorAll("[data-order-words]")) {
      words.hidden = words.dataset.orderWords !== kind;
    }
    for (const block of all) block.querySelector(".step-buttons").hidden = all.length === 1;
    form.querySelector("[data-step-add]").hidden = all.length >= Number(list.dataset.most);
  }

  function add() {
    const number = blocks().length + 1;
    const holder = document.createElement("template");
    holder.innerHTML = template.innerHTML.replaceAll("step0_", `step${number}_`);
    const block = holder.content.querySelector("[data-step]");
    block.querySelector("[data-step-number]").textContent = number;
    template.before(block);
    block.querySelector("input").focus();
  }

  function arrange(values) {
    const all = blocks();
    for (const surplus of all.slice(values.length)) surplus.remove();
    values.forEach((each, index) => fill(all[index], each));
  }

  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-step-add], [data-step-up], [data-step-down], [data-step-remove]");
    if (!button) return;
    const all = blocks();
    const index = all.indexOf(button.closest("[data-step]"));
    const values = all.map(valuesOf);
    if ("stepAdd" in button.dataset) add();
    else if ("stepUp" in button.dataset) arrange(moved(values, index, index - 1));
    else if ("stepDown" in button.dataset) arrange(moved(values, index, index + 1));
    else arrange(without(values, index));
    show();
  });
  form.addEventListener("input", show);
  show();
}

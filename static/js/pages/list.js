// Lists of campaigns and runs: filters apply at once, running campaigns move, two ticks compare.

import { refreshPage } from "../live/regions.js";

const REFRESH_MS = 5000;

for (const form of document.querySelectorAll("[data-submits-on-change]")) {
  form.addEventListener("change", () => submitWithoutEmpties(form));
  form.addEventListener("submit", () => dropEmpties(form));
}

// The address names only what is chosen.
function dropEmpties(form) {
  for (const field of form.elements) field.disabled = field.name !== "" && field.value === "";
}

function submitWithoutEmpties(form) {
  dropEmpties(form);
  form.submit();
}

window.addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll(".filters [disabled]")) field.disabled = false;
});

if (document.querySelector("[data-moving]")) {
  setInterval(() => document.hidden || refreshPage().catch(() => {}), REFRESH_MS);
}

const compare = document.querySelector("[data-compare]");
if (compare) {
  const form = document.getElementById("compare");
  const words = form.querySelector("[data-compare-words]");
  const tell = () => {
    const ticked = form.querySelectorAll("input[name=run]:checked");
    compare.disabled = ticked.length !== 2;
    compare.textContent = ticked.length === 2 ? "Compare 2" : "Compare";
    words.textContent = ticked.length
      ? `${ticked.length} ticked. ${ticked.length === 2 ? "The older one is the baseline." : "Two are compared."}`
      : "";
    for (const box of form.querySelectorAll("input[name=run]")) {
      box.closest("tr").classList.toggle("selected", box.checked);
    }
  };
  form.addEventListener("change", tell);
  window.addEventListener("pageshow", tell);
  tell();
}

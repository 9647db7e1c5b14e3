// The form of a new campaign: column ticks, row totals, arrow keys, and the estimate while typing.

import { csrfToken } from "../lib/http.js";
import { replaceRegions } from "../live/regions.js";

const WAIT_MS = 300;
const form = document.querySelector("[data-estimate]");
if (form) start(form, form.querySelector("[data-grid]"));

function start(estimated, grid) {
  grid.addEventListener("change", (event) => {
    if (event.target.dataset.column !== undefined) tickColumn(grid, event.target);
    showTotals(grid);
  });
  grid.addEventListener("keydown", (event) => moveTick(grid, event));
  const ask = debounced(() => estimate(estimated), WAIT_MS);
  estimated.addEventListener("input", ask);
  estimated.addEventListener("change", ask);
  showTotals(grid);
}

function rows(grid) {
  return [...grid.tBodies[0].rows].map((row) => [...row.cells].slice(1, -1).map((cell) => cell.querySelector("input")));
}

function tickColumn(grid, head) {
  const nth = Number(head.dataset.column);
  for (const boxes of rows(grid)) if (boxes[nth]) boxes[nth].checked = head.checked;
}

function showTotals(grid) {
  // A cell is empty where plan and endpoint do not fit.
  const all = rows(grid);
  for (const [i, cells] of all.entries()) {
    const boxes = cells.filter(Boolean);
    const total = boxes.filter((box) => box.checked).length;
    grid.tBodies[0].rows[i].querySelector(".row-total").textContent = String(total);
    for (const box of boxes) box.closest("td").classList.toggle("is-ticked", box.checked);
  }
  for (const head of grid.querySelectorAll("[data-column]")) {
    const column = all.map((boxes) => boxes[Number(head.dataset.column)]).filter(Boolean);
    const ticked = column.filter((box) => box.checked).length;
    head.checked = ticked > 0 && ticked === column.length;
    head.indeterminate = ticked > 0 && ticked < column.length;
  }
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function moveTick(grid, event) {
  const step = STEPS[event.key];
  if (!step) return;
  const heads = [...grid.querySelectorAll("[data-column]")];
  const all = [heads, ...rows(grid)];
  const row = all.findIndex((boxes) => boxes.includes(event.target));
  if (row < 0) return;
  event.preventDefault();
  const column = all[row].indexOf(event.target);
  all[row + step[0]]?.[column + step[1]]?.focus();
}

function debounced(work, waitMs) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, waitMs);
  };
}

let asked = 0;

async function estimate(estimated) {
  asked += 1;
  const mine = asked;
  const said = estimated.querySelector(".estimate-state");
  try {
    const answer = await fetch(estimated.dataset.estimate, {
      method: "POST",
      body: new FormData(estimated),
      headers: { "X-CSRFToken": csrfToken() },
    });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return;
    replaceRegions(document, fresh);
    said.textContent = "";
  } catch {
    if (mine === asked) said.textContent = "The estimate is not up to date: the server does not answer.";
  }
}

// The crosshair of a search's drawings: a pointer or the arrow keys read a trial, in all panels that
// have it. A click or Enter goes to its row in the table, and from there to its run.

import { onArrowKeys } from "./reading.js";

const ROW_IS_NEAR = 0.25; // how much a px up or down counts beside one to the left or right

// What is returned finds the panels again after they were replaced.
export function trialReader() {
  let at = null;

  function read(trial) {
    at = trial;
    for (const panel of document.querySelectorAll("[data-trials]")) tell(panel, trial);
  }

  function find() {
    for (const panel of document.querySelectorAll("[data-trials]")) {
      panel.addEventListener("pointermove", (event) => read(trialUnder(panel, event)));
      panel.addEventListener("pointerleave", () => read(null));
      panel.addEventListener("click", () => open(at));
      panel.addEventListener("keydown", (event) => {
        if (event.key === "Enter") open(at);
      });
      onArrowKeys(panel, () => trialsOf(panel), () => at, read);
    }
    read(at);
  }

  find();
  return find;
}

function tell(panel, trial) {
  const mark = panel.querySelector(`[data-trial="${trial}"]`);
  for (const readout of panel.closest(".chart").querySelectorAll("[data-reads]")) {
    const { reads } = readout.dataset;
    readout.textContent = panel.querySelector(`[data-trial="${trial}"][data-${reads}]`)?.dataset[reads] ?? "";
  }
  for (const line of panel.querySelectorAll(".search-crosshair")) {
    line.setAttribute("visibility", mark ? "visible" : "hidden");
    if (!mark) continue;
    line.setAttribute("x1", `${mark.dataset.x}%`);
    line.setAttribute("x2", `${mark.dataset.x}%`);
  }
}

// The numbers of a panel's trials by their rate.
function trialsOf(panel) {
  const places = new Map(marksOf(panel).map(({ dataset }) => [dataset.trial, Number(dataset.x)]));
  return [...places.keys()].sort((a, b) => places.get(a) - places.get(b) || a - b);
}

function trialUnder(panel, { clientX, clientY }) {
  const away = (mark) => {
    const box = mark.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2 - clientX, box.y + box.height / 2 - clientY];
    return Math.hypot(x, ROW_IS_NEAR * y);
  };
  const found = marksOf(panel).map((mark) => ({ trial: mark.dataset.trial, away: away(mark) }));
  return found.reduce((near, each) => (each.away < near.away ? each : near), { trial: null, away: Infinity }).trial;
}

const marksOf = (panel) => [...panel.querySelectorAll("[data-trial]")];

function open(trial) {
  if (trial === null) return;
  const [row, hash] = [document.getElementById(`trial-${trial}`), `#trial-${trial}`];
  if (!row) window.location.assign(`?trials=all${hash}`);
  else if (window.location.hash === hash) row.querySelector("a")?.click();
  else window.location.hash = hash;
}

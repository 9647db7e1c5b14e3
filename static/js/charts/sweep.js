// The crosshair of a sweep's curves: a pointer or the arrow keys read one value of the parameter, in
// all curves of the sweep at once. A click leads to the runs of the point that is nearest, Enter to
// those of the first arm there.

import { onArrowKeys } from "./reading.js";

// What is returned finds the curves again after they were replaced.
export function sweepReader() {
  function find() {
    for (const section of document.querySelectorAll("section.sweep")) readTogether(section);
  }

  find();
  return find;
}

function readTogether(section) {
  const panels = [...section.querySelectorAll("[data-sweep]")];
  let at = null;

  function read(value) {
    at = value;
    for (const panel of panels) tell(panel, value);
  }

  for (const panel of panels) {
    panel.addEventListener("pointermove", (event) => read(valueUnder(panel, event.clientX)));
    panel.addEventListener("pointerleave", () => read(null));
    panel.addEventListener("click", (event) => open(nearest(dotsOf(panel), event)));
    panel.addEventListener("keydown", (event) => {
      if (event.key === "Enter") open(dotsOf(panel).find((dot) => Number(dot.dataset.value) === at));
    });
    onArrowKeys(panel, () => valuesOf(panels), () => at, read);
  }
}

function tell(panel, value) {
  const dots = dotsOf(panel).filter((dot) => Number(dot.dataset.value) === value);
  const [line] = panel.getElementsByClassName("search-crosshair");
  line.setAttribute("visibility", dots.length ? "visible" : "hidden");
  for (const end of ["x1", "x2"]) if (dots.length) line.setAttribute(end, `${dots[0].dataset.x}%`);
  const said = dots.map((dot) => dot.dataset.said).join("; ");
  panel.closest(".chart").querySelector(".readout").textContent = dots.length ? `${dots[0].dataset.at}: ${said}` : "";
}

// The table of a point's runs; of many tests the page shows the one that its address asks for.
function open(dot) {
  if (!dot) return;
  const { test } = dot.dataset;
  const table = document.getElementById(`test-${test}`);
  if (table) {
    table.closest("details").open = true;
    location.hash = `test-${test}`;
    return;
  }
  const address = new URL(location);
  address.searchParams.set("repeats", test);
  address.hash = `test-${test}`;
  location.assign(address);
}

function nearest(dots, { clientX, clientY }) {
  const away = (dot) => {
    const { x, y } = dot.getBoundingClientRect();
    return Math.hypot(x - clientX, y - clientY);
  };
  return dots.reduce((near, dot) => (near && away(near) <= away(dot) ? near : dot), null);
}

function valueUnder(panel, clientX) {
  const away = (dot) => Math.abs(dot.getBoundingClientRect().x - clientX);
  const dots = dotsOf(panel);
  if (!dots.length) return null;
  return Number(dots.reduce((near, dot) => (away(dot) < away(near) ? dot : near)).dataset.value);
}

function valuesOf(panels) {
  const values = panels.flatMap((panel) => dotsOf(panel).map((dot) => Number(dot.dataset.value)));
  return [...new Set(values)].sort((a, b) => a - b);
}

const dotsOf = (panel) => [...panel.querySelectorAll("[data-value]")];

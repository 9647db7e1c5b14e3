// A project's histories: the dots of all tests, read with the pointer or the arrow keys.

import { onArrowKeys } from "../charts/reading.js";
import "./list.js";

const frame = document.querySelector("[data-dots]");
if (frame) readDots(frame.querySelector(".dots"), frame.querySelector(".readout"));

function readDots(line, readout) {
  const dots = [...line.querySelectorAll("circle")];
  const places = dots.map((_, place) => place);
  let at = null;

  function read(place) {
    dots[at]?.classList.remove("dot-read");
    at = place;
    dots[at]?.classList.add("dot-read");
    readout.textContent = at === null ? "" : dots[at].textContent;
  }

  function open() {
    if (at !== null) window.location.assign(dots[at].dataset.to);
  }

  function under(event) {
    const place = dots.indexOf(event.target);
    return place < 0 ? null : place;
  }

  line.addEventListener("pointermove", (event) => read(under(event)));
  line.addEventListener("pointerleave", () => read(null));
  line.addEventListener("click", (event) => {
    read(under(event));
    open();
  });
  line.addEventListener("keydown", (event) => event.key === "Enter" && open());
  onArrowKeys(line, () => places, () => at, read);
}

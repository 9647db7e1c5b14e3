// The switch over a run's charts: the whole run so far, its last five minutes, up to the end, or a
// stretch that was chosen in them. The choice is in the URL, so that a reload and a link show the same.

import { queryFor, stretchOf, viewIn } from "./time_axis.js";

export function timeSwitch(frame, changed) {
  const group = frame.querySelector("[data-time-switch]");
  const buttons = [...group.querySelectorAll("[data-time]")];
  const view = () => viewIn(window.location.search);

  function press() {
    const pressed = stretchOf(view()) ? "stretch" : view();
    for (const each of buttons) each.setAttribute("aria-pressed", each.dataset.time === pressed);
  }

  function choose(next) {
    const { pathname, search } = window.location;
    window.history.replaceState(null, "", pathname + queryFor(next, search));
    press();
    changed();
  }

  for (const each of buttons.filter(({ dataset }) => dataset.time !== "stretch")) {
    each.addEventListener("click", () => choose(each.dataset.time));
  }
  press();

  // A run of five minutes has nothing to choose; a finished one has no end to come.
  function offer({ isLong, stretch }, isLive) {
    group.hidden = !isLong;
    group.querySelector("[data-time=stretch]").hidden = !stretch;
    for (const each of group.querySelectorAll("[data-only-live]")) each.hidden = !isLive;
  }

  return { view, choose, offer };
}

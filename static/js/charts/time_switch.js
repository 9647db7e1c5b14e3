// The switch over a run's charts: the whole run so far, its last five minutes, or up to the end. The
// choice is in the URL, so that a reload and a link show the same.

import { queryFor, viewIn } from "./time_axis.js";

export function timeSwitch(frame, changed) {
  const group = frame.querySelector("[data-time-switch]");
  const buttons = [...group.querySelectorAll("[data-time]")];
  const view = () => viewIn(window.location.search);

  function press() {
    for (const each of buttons) each.setAttribute("aria-pressed", each.dataset.time === view());
  }

  for (const each of buttons) {
    each.addEventListener("click", () => {
      const { pathname, search } = window.location;
      window.history.replaceState(null, "", pathname + queryFor(each.dataset.time, search));
      press();
      changed();
    });
  }
  press();

  // A run of five minutes has nothing to choose; a finished one has no end to come.
  function offer(isLong, isLive) {
    group.hidden = !isLong;
    for (const each of group.querySelectorAll("[data-only-live]")) each.hidden = !isLive;
  }

  return { view, offer };
}

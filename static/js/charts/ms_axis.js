// The axis of times of a chart: logarithmic or linear, as its buttons say.

import { logRange, logTicks, roundUp, tickText } from "./axes.js";
import { fixWidth } from "./marks.js";
import { cssToken } from "./theme.js";

// As wide as those of the charts beside it; it holds `values`, if there are any.
export function msScale(isLog, values = null) {
  const logarithmic = {
    type: "logarithmic",
    afterBuildTicks(scale) {
      scale.ticks = logTicks(scale.min, scale.max).map((value) => ({ value }));
    },
  };
  const linear = { type: "linear" };
  const range = isLog ? logRange : (all) => ({ min: 0, max: roundUp(Math.max(...all, 0) * 1.05) });
  return {
    ...(isLog ? logarithmic : linear),
    ...(values && range(values)),
    border: { display: false },
    afterFit: fixWidth,
    grid: { color: () => cssToken("grid") },
    ticks: { maxTicksLimit: 6, callback: tickText },
  };
}

// Buttons that choose a logarithmic or a linear axis; `choose` gets whether it is logarithmic.
export function onScaleChoice(switcher, choose) {
  const buttons = [...(switcher?.querySelectorAll("button") ?? [])];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
      choose(button.dataset.scale === "log");
    });
  }
}

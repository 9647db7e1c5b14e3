// Choosing a range by dragging across charts that share their axis.

import { cssToken } from "./theme.js";

const LEAST = 8; // pixels: less is a click

// What is being chosen, washed; `options.range` is [x, x] of the axis, or null.
export const chosenRange = {
  id: "chosenRange",
  beforeDatasetsDraw(chart, _, { range }) {
    if (!range) return;
    const { ctx, chartArea: area, scales: { x } } = chart;
    const [left, right] = range.map((each) => Math.min(area.right, Math.max(area.left, x.getPixelForValue(each))));
    ctx.save();
    ctx.fillStyle = cssToken("accent-wash");
    ctx.fillRect(left, area.top, right - left, area.height);
    ctx.restore();
  },
};

// `show(range)` while a pointer is dragged across `chart`, with null where nothing is chosen any
// more, then `choose(range)`; `click(event)` where the pointer stayed.
export function onDrag(chart, { show, choose, click }) {
  const { canvas } = chart;
  let from = null;
  let range = null;
  const xOf = (event) => event.clientX - canvas.getBoundingClientRect().left;

  function end() {
    from = null;
    range = null;
    show(null);
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = xOf(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from === null) return;
    const isFar = Math.abs(xOf(event) - from) >= LEAST;
    range = isFar ? [from, xOf(event)].sort((a, b) => a - b).map((x) => chart.scales.x.getValueForPixel(x)) : null;
    show(range);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const chosen = range;
    end();
    if (chosen) choose(chosen);
    else click(event);
  });
  canvas.addEventListener("pointercancel", end);
}

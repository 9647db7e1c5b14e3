// Every request of a short run as a mark at its start: failed ones crossed, those of the warm-up hollow.

import { crosshair, framed } from "./marks.js";
import { tickText } from "./axes.js";
import { msScale, onScaleChoice } from "./ms_axis.js";
import { asTable, readable } from "./reading.js";
import { timeTicks } from "./time_axis.js";
import { cssToken, onThemeChange } from "./theme.js";

const END_WIDTH = 12;
const MOST_SAID = 3;
// By mark, those that are drawn last first: a failed one hides behind no other.
const LOOKS = {
  failed: { pointStyle: "crossRot", token: "bad", radius: 5, borderWidth: 1.8 },
  ok: { pointStyle: "circle", token: "ink", radius: 1.8, borderWidth: 0 },
  "warm-up": { pointStyle: "circle", token: "ink-3", radius: 2.2, borderWidth: 1, isHollow: true },
};

// `columns`: {s, ms, mark, texts: [[name, at, ms, …]], head} of one length, in the order of `s`.
export function requestsChart(frame, columns) {
  const canvas = frame.querySelector("canvas");
  const chart = new window.Chart(canvas, { type: "scatter", data: { datasets: [] }, options: options(), plugins: [crosshair] });
  let shown = columns;
  let isLog = true;
  const tellTable = asTable(frame, () => ({ head: shown.head, rows: shown.texts }));

  function draw() {
    chart.data.datasets = Object.entries(LOOKS).map(([mark, look]) => datasetOf(shown, mark, look));
    const { s, ms } = shown;
    Object.assign(chart.options.scales.x, { min: Math.min(0, s[0]), max: Math.max(s.at(-1) * 1.01, 0.001) });
    chart.options.scales.y = msScale(isLog, ms);
    chart.update("none");
    tellTable();
  }

  onScaleChoice(frame.querySelector(".seg"), (isLogNow) => {
    isLog = isLogNow;
    draw();
  });
  readable(chart, {
    places: () => [...new Set(shown.s)],
    placeUnder: (x) => shown.s[nearest(shown.s, x)],
    say: (place) => said(shown, place),
  });
  onThemeChange(draw);
  draw();
  return {
    show(next) {
      shown = next;
      draw();
    },
  };
}

function options() {
  return {
    ...framed(END_WIDTH),
    parsing: false,
    normalized: true,
    events: [],
    plugins: { crosshair: { at: null } },
    scales: {
      x: {
        type: "linear",
        grid: { display: false },
        border: { display: false },
        afterBuildTicks(scale) {
          if (scale.max >= 10) scale.ticks = timeTicks(scale.min, scale.max).map((value) => ({ value }));
        },
        ticks: { maxRotation: 0, includeBounds: false, callback: tickText },
      },
      y: msScale(true),
    },
  };
}

function datasetOf({ s, ms, mark }, name, { token, isHollow, ...look }) {
  const data = s.map((x, i) => ({ x, y: ms[i] })).filter((_, i) => mark[i] === name);
  const colour = cssToken(token);
  return { data, ...look, borderColor: colour, backgroundColor: isHollow ? cssToken("paper") : colour, clip: 8 };
}

// The index of the value that is nearest to x; `values` are sorted.
export function nearest(values, x) {
  let low = 0;
  let high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle;
    else high = middle;
  }
  return x - values[low] <= values[high] - x ? low : high;
}

// Those that began at this place, the first few of them.
function said({ s, texts }, place) {
  const first = s.indexOf(place);
  const last = s.lastIndexOf(place);
  const shown = texts.slice(first, Math.min(last + 1, first + MOST_SAID));
  const sentences = shown.map(([name, , , response, end]) => `${name} ${response} ms, ${end}`);
  return sentences.join("; ") + (last - first >= MOST_SAID ? " …" : "");
}

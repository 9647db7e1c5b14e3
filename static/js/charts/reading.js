// A chart's figures for those who do not read them off the drawing: a pointer or the arrow keys say
// those of one place in the title line, and a table on demand has all of them.

// The place one step further among the sorted `places`; from none, the first or the last.
export function nextPlace(places, at, step) {
  const index = places.indexOf(at);
  if (index < 0) return places[step > 0 ? 0 : places.length - 1];
  return places[Math.min(places.length - 1, Math.max(0, index + step))];
}

// Calls `read` with the place that the keys lead to; Escape leads to none.
export function onArrowKeys(element, places, at, read) {
  element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") read(null);
    if (!step || event.target !== element || !places().length) return;
    event.preventDefault();
    read(nextPlace(places(), at(), step));
  });
}

// Reads a chart with the crosshair plugin. `places()`: the x that the keys stop at; `placeUnder(x)`:
// the place that is read at an x under the pointer, or null; `say(place)`: its figures.
export function readable(chart, { places, placeUnder, say }) {
  const figure = chart.canvas.closest(".chart");
  const readout = figure.querySelector(".readout");
  let at = null;

  function read(place) {
    at = place;
    chart.options.plugins.crosshair.at = place;
    readout.textContent = place === null ? "" : say(place);
    chart.update("none");
  }

  chart.canvas.addEventListener("pointermove", (event) => {
    const left = chart.canvas.getBoundingClientRect().left;
    read(placeUnder(chart.scales.x.getValueForPixel(event.clientX - left)));
  });
  chart.canvas.addEventListener("pointerleave", () => read(null));
  onArrowKeys(chart.canvas.parentElement, places, () => at, read);
}

const MOST_COLUMNS = 8;

// The table, with a row for each line where more lines than `most` would have to fit beside one another.
export function upright({ head, rows }, most = MOST_COLUMNS) {
  const [corner, ...names] = head;
  if (names.length <= most) return { head, rows };
  return {
    head: [corner, ...rows.map(([name]) => name)],
    rows: names.map((name, i) => [name, ...rows.map((row) => row[i + 1])]),
  };
}

// Offers the disclosure of `frame` with the chart's figures. `table()` is {head: [text], rows: [[text]]};
// call what is returned after each change.
export function asTable(frame, table) {
  const details = frame.querySelector("[data-chart-table]");
  details.hidden = false;

  function fill() {
    if (!details.open) return;
    const { head, rows } = table();
    details.querySelector("thead").replaceChildren(rowOf(head.map((text) => cell("th", text, "col"))));
    details.querySelector("tbody").replaceChildren(
      ...rows.map(([name, ...texts]) => rowOf([cell("th", name, "row"), ...texts.map((text) => cell("td", text))])),
    );
  }

  details.addEventListener("toggle", fill);
  return fill;
}

function rowOf(cells) {
  const row = document.createElement("tr");
  row.append(...cells);
  return row;
}

function cell(name, text, scope) {
  const made = document.createElement(name);
  made.textContent = text;
  if (scope) made.scope = scope;
  if (scope !== "row") made.className = "num";
  return made;
}

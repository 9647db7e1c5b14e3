// What every group of charts offers: its figures as a table and as CSV, its picture, the full screen.

import $ from "jquery";
import { groupAt } from "./chart.js";
import { csvOf, tableOf } from "./figures.js";
import { Chart } from "./library.js";
import { cssToken } from "./theme.js";

const TITLE_PX = 28; // above each panel of a picture

// Fills the disclosure of a group, if it is open.
export function fillTable(group) {
  const details = group.element.querySelector("[data-chart-table]");
  if (!details) return;
  details.hidden = false;
  if (!details.open) return;
  const { head, rows } = tableOf(group);
  $(details).find("thead").empty().append(rowOf(head.map((text) => $("<th>", { text, scope: "col", class: "num" }))));
  $(details).find("tbody").empty().append(rows.map(([name, ...texts]) =>
    rowOf([$("<th>", { text: name, scope: "row" }), ...texts.map((text) => $("<td>", { text, class: "num" }))])));
}

const rowOf = (cells) => $("<tr>").append(cells);

// `toggle` does not bubble.
document.addEventListener("toggle", ({ target }) => {
  const group = target.matches?.("[data-chart-table]") && groupAt(target);
  if (group) fillTable(group);
}, true);

// Its panels below each other on the page's own ground, with their titles.
function pictureOf(group) {
  const shown = group.drawn.map((panel) => ({ panel, canvas: group.charts.get(panel.key)?.canvas })).filter(({ canvas }) => canvas);
  const picture = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  const title = TITLE_PX * ratio;
  picture.width = Math.max(...shown.map(({ canvas }) => canvas.width)) + 2 * title;
  picture.height = shown.reduce((sum, { canvas }) => sum + canvas.height + title, title);
  const pen = picture.getContext("2d");
  pen.fillStyle = cssToken("paper");
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.font = `600 ${13 * ratio}px ${Chart.defaults.font.family}`;
  let top = title / 2;
  for (const { panel, canvas } of shown) {
    pen.fillStyle = cssToken("ink");
    pen.fillText([panel.title, panel.unit].filter(Boolean).join(", "), title, top + title * 0.7);
    pen.drawImage(canvas, title, top + title);
    top += canvas.height + title;
  }
  return picture;
}

function save(name, blob) {
  const href = URL.createObjectURL(blob);
  $("<a>", { href, download: name }).get(0).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

const DOES = {
  png: (group) => pictureOf(group).toBlob((blob) => save(`${group.key}.png`, blob)),
  csv: (group) => save(`${group.key}.csv`, new Blob([csvOf(tableOf(group))], { type: "text/csv" })),
  full: ({ element }) => (document.fullscreenElement ? document.exitFullscreen() : element.requestFullscreen()),
};

$(document)
  .on("click", "[data-chart-do]", ({ currentTarget }) => DOES[currentTarget.dataset.chartDo](groupAt(currentTarget)))
  .on("click", "[data-charts] [data-scale]", ({ currentTarget }) => {
    const group = groupAt(currentTarget);
    group.isLog = currentTarget.dataset.scale === "log";
    $(group.element).find("[data-scale]").each((_, each) => $(each).attr("aria-pressed", String(each === currentTarget)));
    group.redraw();
  });

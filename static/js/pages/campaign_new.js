// The form of a new campaign: column ticks, row totals, arrow keys, and the estimate while typing.

import $ from "jquery";
import { keepTyped } from "../lib/typed.js";
import { previewWhileTyping } from "../live/preview.js";
import { replaceRegions } from "../live/regions.js";

const LOOK_AGAIN_MS = 700;
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const grid = $("[data-grid]");

// The boxes of a column of arms; a cell is empty where plan and endpoint do not fit.
function column(head) {
  return grid.find(`tbody td:nth-child(${Number(head.dataset.column) + 2}) input`);
}

function showTotals() {
  grid.find("tbody tr").each((_, row) => {
    $(row).find(".row-total").text($(row).find("input:checked").length);
  });
  grid.find("tbody input").each((_, box) => $(box).closest("td").toggleClass("is-ticked", box.checked));
  grid.find("[data-column]").each((_, head) => {
    const boxes = column(head);
    const ticked = boxes.filter(":checked").length;
    $(head).prop({
      checked: ticked > 0 && ticked === boxes.length,
      indeterminate: ticked > 0 && ticked < boxes.length,
    });
  });
}

function moveTick(event) {
  const step = STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const cell = $(event.target).closest("td, th");
  const row = grid.find("tr").eq(grid.find("tr").index(cell.parent()) + step[0]);
  row.children().eq(cell.index() + step[1]).find("input").trigger("focus");
}

// Hides the columns of other targets; one with ticks stays in sight, because it will be measured.
function showTarget() {
  const chosen = $("[data-target-filter]").val();
  const ticked = grid.find("tbody input:checked").closest("td").get().map((cell) => cell.dataset.target);
  grid.find("[data-target]").each((_, cell) => {
    const { target } = cell.dataset;
    $(cell).prop("hidden", Boolean(chosen) && target !== chosen && !ticked.includes(target));
  });
}

// "Try now" posts the form to its own page; while an answer is awaited, the preview is asked again.
function followTries(form) {
  let timer = 0;
  const ask = previewWhileTyping(form, lookAgain);

  function say(words) {
    form.find("[data-preview-state]").text(words);
  }

  function lookAgain() {
    clearTimeout(timer);
    if (form.find("[data-awaited]").length) timer = setTimeout(ask, LOOK_AGAIN_MS);
  }

  form.on("click", "[name=try]", (event) => {
    event.preventDefault();
    $.post(window.location.href, `${form.serialize()}&try=1`)
      .done((page) => {
        say(replaceRegions(page) ? "" : "Sign in again to try.");
        document.getElementById("tried").scrollIntoView({ block: "nearest" });
        lookAgain();
      })
      .fail(() => say("Nothing was tried: the server does not answer, or you are signed out."));
  });
}

$("[data-target-filter]").on("change", showTarget);
grid
  .on("change", "[data-column]", ({ target }) => column(target).prop("checked", target.checked))
  .on("change", showTotals)
  .on("keydown", "input", moveTick);

function show() {
  showTarget();
  showTotals();
}

$(window).on("pageshow", show); // a browser that comes back has filled the fields in by now
show();
followTries($("[data-preview]"));
keepTyped($("[data-preview]"));

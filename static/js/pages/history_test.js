// A test's history: its charts over campaigns.

import { testHistory } from "../charts/history.js";
import { applyChartDefaults } from "../charts/theme.js";
import { block } from "../lib/block.js";
import "./list.js";

const history = block("history");
if (history) {
  applyChartDefaults();
  testHistory(document.querySelector("[data-history]"), history, choose);
}

// The fields of the filter, which can be filled in by hand as well.
function choose({ since, until }) {
  const form = document.querySelector(".filters");
  const { elements } = form;
  for (const [name, day] of Object.entries({ since, until })) {
    elements[name].type = "date"; // it may hold a mark
    elements[name].value = day;
  }
  form.requestSubmit();
}

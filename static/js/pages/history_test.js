// A test's history: its charts over campaigns.

import { testHistory } from "../charts/history.js";
import { applyChartDefaults } from "../charts/theme.js";
import "./list.js";

const data = document.getElementById("history");
if (data) {
  applyChartDefaults();
  testHistory(document.querySelector("[data-history]"), JSON.parse(data.textContent));
}

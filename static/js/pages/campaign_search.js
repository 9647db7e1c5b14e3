// A search's page: its regions are replaced as trials end.

import { trialReader } from "../charts/trials.js";
import "../lib/dialogs.js";
import { livePage } from "../live/page.js";

const findPanels = trialReader();

livePage({
  second() {},
  replaced(names) {
    if (names.includes("drawing")) findPanels();
  },
});

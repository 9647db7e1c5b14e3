// A search's page: its regions are replaced as trials end.

import "../charts/chart.js";
import "../lib/dialogs.js";
import { livePage } from "../live/page.js";

livePage({ second() {}, replaced() {} });

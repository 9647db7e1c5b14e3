// A search's page: its regions are replaced as trials end.

import "../charts/chart.js";
import { livePage } from "../live/page.js";

livePage({ second() {}, replaced() {} });

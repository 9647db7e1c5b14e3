// A page with charts, and perhaps tabs or a dialog, that needs nothing else.

import "../charts/chart.js";
import "../lib/dialogs.js";
import "../lib/tabs.js";

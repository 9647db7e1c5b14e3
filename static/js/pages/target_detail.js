// A target's page: its parts behind tabs, and what changed most as a chart.

import "../charts/chart.js";
import "../lib/tabs.js";

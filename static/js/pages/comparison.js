// A comparison, also a shared one: its charts, and its parts behind tabs.

import "../charts/chart.js";
import "../lib/tabs.js";

// A page with charts that needs nothing else.

import "../charts/chart.js";

// A target's page: its parts behind tabs.

import "../lib/tabs.js";

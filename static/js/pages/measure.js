// The page of one test request: Enter sends it, answers arrive.

import "../lib/url_field.js";
import "./probe_detail.js";

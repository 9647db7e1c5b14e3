// The page that makes a job of CI: the job follows the choices, behind tabs.

import { watchFilters } from "../lib/list_filters.js";
import { showTabs } from "../lib/tabs.js";
import "./copy.js";

watchFilters(showTabs);

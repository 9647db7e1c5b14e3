// A project's histories, and a test's own: lists with charts over campaigns.

import "../charts/chart.js";
import "./list.js";

// The parts of Chart.js that our charts use; the others stay out of the bundle.

import {
  BarController, BarElement, Chart, Filler, LinearScale, LineController, LineElement, LogarithmicScale, PointElement,
} from "chart.js";

Chart.register(
  BarController, BarElement, Filler, LinearScale, LineController, LineElement, LogarithmicScale, PointElement,
);

window.Chart = Chart; // for consoles, and for tests in a browser

export { Chart };

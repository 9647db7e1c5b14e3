// One plan: draws its load curve.

import { drawLoadCurves } from "../charts/load_curve.js";
import { loadCurve } from "../lib/load.js";
import { curveSentence } from "../lib/load_words.js";

const spec = JSON.parse(document.getElementById("plan-spec").textContent);

function draw() {
  const curve = loadCurve(spec.load, spec.warm_up_s);
  if (!curve) return;
  drawLoadCurves(document.getElementById("curve"), [curve]);
  document.getElementById("curve-unit").textContent = curve.unit;
  document.getElementById("curve-text").textContent = curveSentence(spec.load);
}

window.addEventListener("resize", draw);
draw();

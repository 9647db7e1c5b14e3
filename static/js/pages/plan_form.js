// The plan's form: shows the fields that the load model uses, and draws the load while typing.

import { drawLoadCurves } from "../charts/load_curve.js";
import { arrivalOf, isComplete, loadCurve, readNumber } from "../lib/load.js";
import { CHOICES, ONLY_SHOWN, TICKS, usedFields } from "../lib/load_fields.js";
import { readStages } from "../lib/stages.js";
import { curveSentence, estimate } from "../lib/load_words.js";
import { initShownBy } from "../lib/shown_by.js";
import { initSteps } from "../lib/steps.js";

const form = document.querySelector("[data-plan-form]");

function chosen(name) {
  return form.querySelector(`input[name=${name}]:checked`)?.value;
}

function number(name) {
  return readNumber(form.elements[name].value);
}

function readChoices() {
  const names = ["model", "stop", "distribution", "hold", "rate_shape"];
  return Object.fromEntries(names.map((name) => [name, chosen(name)]));
}

function readLoad() {
  const choices = readChoices();
  const load = { model: choices.model };
  for (const name of usedFields(choices)) {
    if (name === "stages") load.stages = readStages(form.elements.stages.value);
    else if (TICKS.has(name)) load[name] = form.elements[name].checked;
    else if (!ONLY_SHOWN.has(name)) load[name] = CHOICES.has(name) ? chosen(name) : number(name);
  }
  load.calls = callsOf(load);
  return load;
}

// The server counts the same: domain.plan.session.calls_per_arrival.
function callsOf(load) {
  const isConnection = load.model === "window" || arrivalOf(load) === "connection";
  if (arrivalOf(load) === "session") return number("calls_per_session") || 1;
  return isConnection ? number("calls_per_connection") || 1 : 1;
}

// The number, the rate and the limit count what arrives.
function nameArrivals(load) {
  const isExchange = form.querySelector("[name=protocol]:checked")?.value === "websocket";
  const noun = isExchange ? "WebSocket" : arrivalOf(load);
  const [label] = form.querySelectorAll("[data-load-row=requests] .form-label");
  label.textContent = `${noun[0].toUpperCase()}${noun.slice(1)}s`;
  form.querySelector("[data-load-row=rate_per_s] .unit").textContent = `${noun}s/s`;
}

function showFields(model) {
  const used = new Set(usedFields(readChoices()));
  for (const row of form.querySelectorAll("[data-load-row]")) {
    row.hidden = !used.has(row.dataset.loadRow);
  }
  for (const words of form.querySelectorAll("[data-model-words]")) {
    words.hidden = words.dataset.modelWords !== model;
  }
}

function showEstimate(load, warmUp) {
  const texts = isComplete(load) ? estimate(load, warmUp) : {};
  for (const place of document.querySelectorAll("[data-estimate]")) {
    place.textContent = texts[place.dataset.estimate] ?? "–";
  }
}

function drawCurve(load, warmUp) {
  const curve = loadCurve(load, warmUp);
  const [svg, text, unit] = ["curve", "curve-text", "curve-unit"].map((id) => document.getElementById(id));
  svg.replaceChildren();
  text.textContent = curve ? curveSentence(load) : "Fill in the load, and its curve stands here.";
  unit.textContent = curve ? curve.unit : "";
  if (curve) drawLoadCurves(svg, [curve]);
}

function update() {
  const load = readLoad();
  const warmUp = number("warm_up_s") ?? 0;
  showFields(load.model);
  nameArrivals(load);
  showEstimate(load, warmUp);
  drawCurve(load, warmUp);
}

function showBodyHint() {
  const sendsNone = ["GET", "HEAD"].includes(form.elements.method.value);
  const isSaid = Boolean(document.getElementById("id_body_error"));
  const hint = document.getElementById("body-hint");
  hint.hidden = isSaid || !(sendsNone && form.elements.body.value);
}

form.addEventListener("input", () => {
  update();
  showBodyHint();
});
window.addEventListener("resize", update);
initSteps(form);
initShownBy(form);
update();
showBodyHint();

// Chart.js in the site's own colours and type; charts read them again when the theme changes.

import { Chart } from "./library.js";
import { drawAll } from "./turns.js";

const cache = new Map();
let probe = null;
let isOnPaper = false;

// Resolves a token to a colour that a canvas understands: tokens may hold light-dark(…).
export function cssToken(name) {
  if (!cache.has(name)) cache.set(name, resolve(name));
  return cache.get(name);
}

function resolve(name) {
  if (!probe) {
    probe = document.createElement("i");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.colorScheme = isOnPaper ? "light" : "";
  probe.style.color = "";
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

export function applyChartDefaults() {
  Chart.defaults.animation = false;
  Chart.defaults.responsive = true;
  Chart.defaults.maintainAspectRatio = false;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  Chart.defaults.color = cssToken("ink-3");
  Chart.defaults.borderColor = cssToken("grid");
  Chart.defaults.elements.point.radius = 0;
  Chart.defaults.elements.line.borderWidth = 1.5;
  Chart.defaults.elements.line.tension = 0;
}

// Calls `redraw` after each change of theme, once the new colours can be read.
export function onThemeChange(redraw) {
  document.addEventListener("themechange", () => {
    cache.clear();
    applyChartDefaults();
    redraw();
  });
}

// Paper always has the light tokens; the charts follow, also those that are far from the window. While
// they are drawn for it, the page's own scheme is still that of the window.
for (const name of ["beforeprint", "afterprint"]) {
  window.addEventListener(name, () => {
    isOnPaper = name === "beforeprint";
    document.dispatchEvent(new CustomEvent("themechange"));
    drawAll();
  });
}

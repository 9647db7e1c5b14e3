// Small lines in tiles: no axes, the last point marked, the least and the most in the title.

import { figure } from "./numbers.js";

const WIDTH = 96;
const HEIGHT = 34;
const EDGE = 3;
const SVG = "http://www.w3.org/2000/svg";

// Path commands through values from 0 to their maximum; null breaks the line. Pure.
export function sparkPath(values, top = Math.max(...values.filter((v) => v !== null), 0)) {
  const step = (WIDTH - 2 * EDGE) / Math.max(1, values.length - 1);
  let isDown = false;
  return values
    .map((value, i) => {
      if (value === null || value === undefined) {
        isDown = false;
        return "";
      }
      const y = HEIGHT - EDGE - (top > 0 ? value / top : 0) * (HEIGHT - 2 * EDGE);
      const command = `${isDown ? "L" : "M"}${(EDGE + i * step).toFixed(1)} ${y.toFixed(1)}`;
      isDown = true;
      return command;
    })
    .join("");
}

// Draws the values into an <svg class="spark">.
export function drawSpark(svg, values, unit = "") {
  const known = values.filter((value) => value !== null && value !== undefined);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.replaceChildren();
  svg.classList.toggle("is-not-zero", known.some((value) => value > 0));
  if (known.length < 2) return;
  const text = `from ${figure(Math.min(...known))} to ${figure(Math.max(...known))} ${unit}`.trim();
  const title = document.createElementNS(SVG, "title");
  title.textContent = text;
  const path = sparkPath(values);
  const last = path.slice(Math.max(path.lastIndexOf("L"), path.lastIndexOf("M")) + 1).split(" ");
  svg.append(
    title,
    element("path", { d: path, class: "spark-line" }),
    element("circle", { cx: last[0], cy: last[1], r: 2.2, class: "spark-end" }),
  );
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

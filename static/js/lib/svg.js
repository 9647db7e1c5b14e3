// Small SVG elements, drawn by attributes and classes, so that themes and print need no redraw.

const NAMESPACE = "http://www.w3.org/2000/svg";

export function svgElement(name, attributes = {}, text = "") {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

// Sets the drawing area to the element's own width, so that text keeps its size.
export function frame(svg, height) {
  const width = Math.max(280, svg.parentElement.clientWidth);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  return width;
}

let patterns = 0;

// A diagonal hatch in the given class; returns the fill that uses it.
export function hatch(svg, className) {
  patterns += 1;
  const id = `hatch-${patterns}`;
  const pattern = svgElement("pattern", {
    id,
    width: 5,
    height: 5,
    patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  pattern.append(svgElement("path", { d: "M0 0V5", class: className }));
  svg.append(pattern);
  return `url(#${id})`;
}

import $ from "jquery";

// Reads a JSON block of the page; null where the page has none.
export function block(id) {
  const element = $(`#${id}`);
  return element.length ? JSON.parse(element.text()) : null;
}

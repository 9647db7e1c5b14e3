// "Save from response": a row of name, kind and expression for each line of its text. Lines that are
// none of these stay a text.

import $ from "jquery";

const KINDS = { json: "JSON path", body: "Pattern", header: "Header", cookie: "Cookie" };
const LINE = /^\s*([^=]*?)\s*=\s*(?:(json|body):|(header|cookie)\s)\s*(.*?)\s*$/;
const BLANK = ["", "json", ""];

function read(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  const rows = lines.map((line) => LINE.exec(line)?.slice(1));
  return rows.every(Boolean) ? rows.map(([name, rule, part, value]) => [name, rule ?? part, value]) : null;
}

function line([name, kind, value]) {
  return `${name} = ${kind}${["json", "body"].includes(kind) ? ":" : ""} ${value}`;
}

function rowOf([name, kind, value]) {
  const options = Object.entries(KINDS).map(([key, words]) => $("<option>", { value: key, text: words }));
  const input = (label, text) => $("<input>", { type: "text", class: "mono", "aria-label": label, value: text, spellcheck: false });
  return $("<div>", { class: "saves" }).append(
    input("Variable", name),
    $("<select>", { "aria-label": "Kind" }).append(options).val(kind),
    input("Expression", value),
    $("<button>", { type: "button", class: "button button-small button-quiet", text: "Remove" }),
  );
}

// Shows rows in place of the text, and writes the text from them.
function show(part) {
  const text = $(part).find("textarea");
  const rows = read(text.val());
  $(part).find(".saves-rows").remove();
  text.prop("hidden", Boolean(rows));
  $(part).find("[data-saves-lines]").prop("hidden", Boolean(rows));
  if (!rows) return;
  const box = $("<div>", { class: "saves-rows" }).insertAfter(text);
  const more = $("<button>", { type: "button", class: "button button-small", text: rows.length ? "Save another value" : "Save a value" });
  box.append(rows.map(rowOf), more);
  const write = () => {
    const typed = box.children(".saves").get().map((row) => $(row).find(":input").not("button").get().map((each) => each.value));
    text.val(typed.filter(([name, , value]) => name || value).map(line).join("\n")).trigger("input");
  };
  box.on("input", ".saves", (event) => {
    event.stopPropagation();
    write();
  });
  box.on("click", ".saves button", ({ target }) => {
    $(target).closest(".saves").remove();
    write();
  });
  more.on("click", () => rowOf(BLANK).insertBefore(more).find("input").first().trigger("focus"));
}

export function showSaves(root) {
  $(root).find("[data-saves]").each((_, part) => show(part));
}

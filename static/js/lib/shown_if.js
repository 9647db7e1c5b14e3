// Shows what belongs to the choices made in its form, and hides the rest: [data-shown-if=condition].

import $ from "jquery";
import { holds } from "./conditions.js";

const form = $("form").has("[data-shown-if]");

function show() {
  const chosen = form.find(":radio:checked, select").get().map(({ name, value }) => [name, value]);
  const choices = Object.fromEntries(chosen);
  form.find("[data-shown-if]").each((_, part) => {
    $(part).prop("hidden", !holds(part.dataset.shownIf, choices));
  });
}

form.on("input", show);
$(window).on("pageshow", show); // a browser that comes back has filled the fields in by now
show();

// The plan's form: shows the fields that the choices use, arranges steps, asks for the preview.

import $ from "jquery";
import "../lib/shown_if.js";
import { stepList } from "../lib/steps.js";
import { keepTyped } from "../lib/typed.js";
import { previewWhileTyping } from "../live/preview.js";
import { replaceRegions } from "../live/regions.js";

const form = $("[data-preview]");
const LOOK_AGAIN_MS = 700;

// --- what was changed since the preset ---

const changes = $("[data-base]");
const base = changes.data("base") ?? {};

function fieldsNamed(name) {
  return form.find(":input").filter((_, field) => field.name === name);
}

function valueOf(name) {
  const fields = fieldsNamed(name);
  if (fields.is(":radio")) return fields.filter(":checked").val() ?? "";
  if (fields.is(":checkbox")) return fields.prop("checked") ? "True" : "";
  return (fields.val() ?? "").replaceAll("\r\n", "\n").trim();
}

function undo(name) {
  const fields = fieldsNamed(name);
  if (fields.is(":radio")) fields.val([base[name].value]);
  else if (fields.is(":checkbox")) fields.prop("checked", Boolean(base[name].value));
  else fields.val(base[name].value);
  fields.first().trigger("input");
}

function showChanges() {
  const changed = Object.keys(base).filter((name) => fieldsNamed(name).length && valueOf(name) !== base[name].value);
  const buttons = changed.map((name) =>
    $("<button>", { type: "button", class: "link", text: base[name].label, title: "Undo this change" })
      .on("click", () => undo(name)),
  );
  changes.prop("hidden", !changed.length).find("[data-changes]").empty().append(buttons);
}

// --- a test request of each step, one after another ---

function trySteps(key) {
  const data = new FormData(form[0]);
  data.append("try_key", key);
  $.post({ url: form.find("[data-try]").data("try"), data, processData: false, contentType: false })
    .done((html) => {
      replaceRegions(html);
      if (form.find("[data-awaited]").length) setTimeout(() => trySteps(key), LOOK_AGAIN_MS);
    })
    .fail(() => form.find("[data-preview-state]").text("No test request was sent: the server does not answer."));
}

form.find("[data-try]").removeAttr("hidden").on("click", "button", () => trySteps(String(Date.now())));

form.on("input", showChanges);
$(window).on("pageshow", showChanges); // a browser that comes back has filled the fields in by now
showChanges();
previewWhileTyping(form);
keepTyped(form, [stepList]);

// The plan's form: shows the fields that the choices use, arranges steps, asks for the preview.

import $ from "../../lib/jquery.module.min.js";
import "../lib/shown_if.js";
import "../lib/steps.js";
import { previewWhileTyping } from "../live/preview.js";

const form = $("[data-preview]");

// Said where a method that sends no body has one, unless the server says so already.
function showBodyHint() {
  const hint = $("#body-hint");
  const sendsNone = hint.data("methods").split(" ").includes($("#id_method").val());
  hint.prop("hidden", $("#id_body_error").length > 0 || !(sendsNone && $("#id_body").val()));
}

form.on("input", showBodyHint);
showBodyHint();
previewWhileTyping(form);

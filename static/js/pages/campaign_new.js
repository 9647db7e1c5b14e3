// The form of a new campaign: its pickers, the estimate while choosing, and test requests.

import $ from "jquery";
import { addAnother, pickers } from "../lib/pickers.js";
import { keepTyped } from "../lib/typed.js";
import "../lib/url_field.js";
import { previewWhileTyping } from "../live/preview.js";
import { replaceRegions } from "../live/regions.js";

const LOOK_AGAIN_MS = 700;
const form = $("[data-preview]");
const ask = previewWhileTyping(form, lookAgain);
let timer = 0;

function say(words) {
  form.find("[data-preview-state]").text(words);
}

// While the answer to a test request is awaited, the preview is asked again.
function lookAgain() {
  clearTimeout(timer);
  if (form.find("[data-awaited]").length) timer = setTimeout(ask, LOOK_AGAIN_MS);
}

form
  .on("click", "[name=pick]", (event) => {
    event.preventDefault();
    addAnother(event.currentTarget.value);
  })
  .on("click", "[name=try]", (event) => {
    event.preventDefault();
    $.post(window.location.href, `${form.serialize()}&try=1`)
      .done((page) => {
        say(replaceRegions(page) ? "" : "Sign in again to send a test request.");
        document.getElementById("tried").scrollIntoView({ block: "nearest" });
        lookAgain();
      })
      .fail(() => say("No test request was sent: the server does not answer, or you are signed out."));
  });
keepTyped(form, [pickers]);

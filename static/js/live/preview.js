// A form that asks the server what it would mean, a moment after the last change: [data-preview] is
// the address. The answer replaces the page's regions. Fields inside [data-apart] are not sent; of
// one inside [data-size-as] its bytes are counted and sent under that name.
// answered() is called after each; returned is ask(), which asks at once.

import $ from "jquery";
import { replaceRegions } from "./regions.js";

const WAIT_MS = 300;

// Whether it says something else than the page that was sent.
export function isChanged(field) {
  if (field.options) {
    const served = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(0, served);
  }
  if (["radio", "checkbox"].includes(field.type)) return field.checked !== field.defaultChecked;
  return field.value !== field.defaultValue;
}

function sizeOf(part) {
  return { name: part.dataset.sizeAs, value: new Blob([$(part).find(":input").val()]).size };
}

export function previewWhileTyping(form, answered = () => {}) {
  let timer = 0;
  let asked = null;

  function ask() {
    asked?.abort();
    const fields = form.find(":input").not(form.find("[data-apart] :input")).serializeArray();
    const sizes = form.find("[data-size-as]").get().map(sizeOf);
    asked = $.post(form.data("preview"), $.param([...fields, ...sizes]))
      .done((html) => {
        say(replaceRegions(html) ? "" : "Sign in again to see a preview.");
        answered();
      })
      .fail((_, why) => why === "abort" || say("The server does not answer; this is not up to date."));
  }

  function say(words) {
    form.find("[data-preview-state]").text(words);
  }

  form.on("input", () => {
    asked?.abort(); // it answers what is no longer there
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT_MS);
  });
  // A browser that comes back fills the fields in again, and says so of none.
  $(window).on("pageshow", () => form.find("input, select, textarea").get().some(isChanged) && ask());
  return ask;
}

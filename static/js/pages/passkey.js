// Forms with data-passkey ask the browser to "create" or "get" a passkey, and send what it answers as
// `credential`. Its options are in the JSON block data-options, or at the form's address.

import $ from "jquery";
import { block } from "../lib/block.js";

const { PublicKeyCredential, navigator } = window;
const OWNER_CHECKED = {
  residentKey: "required",
  requireResidentKey: true,
  userVerification: "required",
};

async function credentialFor({ action, dataset }) {
  const data = dataset.options ? block(dataset.options) : await $.getJSON(action);
  if (dataset.passkey === "create") {
    const options = { ...data.creation_options.publicKey, authenticatorSelection: OWNER_CHECKED };
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return navigator.credentials.create({ publicKey });
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data.request_options.publicKey);
  return navigator.credentials.get({ publicKey });
}

$("[data-passkey]").prop("hidden", !PublicKeyCredential?.parseRequestOptionsFromJSON);

$(document).on("submit", "[data-passkey]", async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const said = $(form).find("[role=alert]").last().prop("hidden", true);
  try {
    const credential = await credentialFor(form);
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (error) {
    const why = error.name === "NotAllowedError" ? "The browser gave no passkey." : error.message;
    said.text(`${why ?? "No answer from the site."} Try again.`).prop("hidden", false);
  }
});

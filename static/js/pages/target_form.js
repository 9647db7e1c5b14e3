// The target's form: rows come and go; the port follows the scheme while it is the usual one.

import $ from "jquery";
import { rowLists } from "../lib/rows.js";
import { keepTyped } from "../lib/typed.js";

const PORTS = { http: "80", https: "443", ws: "80", wss: "443" };

function showCertificate(row) {
  const isTls = ["https", "wss"].includes(row.find("[name=scheme]").val());
  row.find("[data-tls-only]").prop("hidden", !isTls);
}

function followScheme(event) {
  const row = $(event.target).closest("[data-row]");
  const port = row.find("[name=port]");
  if (["", ...Object.values(PORTS)].includes(port.val())) port.val(PORTS[event.target.value]);
  showCertificate(row);
}

const rows = $("[data-rows=endpoint]");
const showCertificates = () => rows.find("[data-row]").each((_, row) => showCertificate($(row)));
showCertificates();
$(window).on("pageshow", showCertificates); // who comes back has what was typed by now
rows
  .on("rowadd", (event) => showCertificate($(event.target)))
  .on("change", "[name=scheme]", followScheme);

const form = $("[data-typed-by]");
keepTyped(form, rowLists(form));

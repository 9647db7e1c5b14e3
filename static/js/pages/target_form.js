// The target's form: rows come and go; the port follows the scheme while it is the usual one.

import { initRows } from "../lib/rows.js";

const PORTS = { http: "80", https: "443", ws: "80", wss: "443" };
const WITH_TLS = new Set(["https", "wss"]);

function showCertificate(row) {
  const hidden = !WITH_TLS.has(row.querySelector("[name=scheme]").value);
  for (const field of row.querySelectorAll("[data-tls-only]")) field.hidden = hidden;
}

function followScheme(select) {
  const row = select.closest("[data-row]");
  const port = row.querySelector("[name=port]");
  if (port.value === "" || Object.values(PORTS).includes(port.value)) port.value = PORTS[select.value];
  showCertificate(row);
}

for (const list of document.querySelectorAll("[data-rows]")) initRows(list, { onAdd: showCertificate });
for (const row of document.querySelectorAll("[data-rows=endpoint] [data-row]")) showCertificate(row);
document.addEventListener("change", (event) => {
  if (event.target.name === "scheme") followScheme(event.target);
});

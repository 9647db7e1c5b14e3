// What was typed into a form comes back with Back, with a reload and after a sign-in that sending it asked
// for, added rows included. A browser alone fills in only fields that the server sent, each by its place, and
// none with autocomplete=off: such a form has that itself, and data-typed-by, the user whose it is. Kept in
// the tab; never a password, file or key.

import $ from "jquery";

const NOT_KEPT = "[type=hidden], [type=password], [type=file], [data-secret]";

function fieldsOf(form) {
  return form.find("input[name], select[name], textarea[name]").not(NOT_KEPT).get();
}

const isTick = ({ type }) => ["radio", "checkbox"].includes(type);

// [[key, value]…]: rows that come and go move no other field's key.
function valuesOf(form) {
  const counts = {};
  return fieldsOf(form).map((field) => {
    if (isTick(field)) return [`${field.name}=${field.value}`, field.checked];
    counts[field.name] = (counts[field.name] ?? 0) + 1;
    return [`${field.name}#${counts[field.name]}`, field.value];
  });
}

function setValue(field, value) {
  if (isTick(field)) field.checked = value;
  else field.value = value;
}

// lists: each {count(), resize(what it counted)}, of what the form can grow.
export function keepTyped(form, lists = []) {
  const key = `typed ${window.location.pathname}${window.location.search}`;
  const whose = form.data("typed-by");
  const served = valuesOf(form);

  function keep() {
    const counts = lists.map((list) => list.count());
    sessionStorage.setItem(key, JSON.stringify({ whose, served, counts, typed: valuesOf(form) }));
  }

  // Nothing where the server says something else by now: what was typed was an answer to that.
  function bringBack(kept) {
    if (kept?.whose !== whose || JSON.stringify(kept.served) !== JSON.stringify(served)) return;
    lists.forEach((list, i) => list.resize(kept.counts[i]));
    const typed = new Map(kept.typed);
    const keys = valuesOf(form).map(([key]) => key);
    fieldsOf(form).forEach((field, i) => typed.has(keys[i]) && setValue(field, typed.get(keys[i])));
  }

  try {
    const [{ type }] = performance.getEntriesByType("navigation");
    // From a sign-in that the form itself led to, see core/access.py.
    const wasUndone = window.location.hash === "#undone";
    if (wasUndone || ["back_forward", "reload"].includes(type)) bringBack(JSON.parse(sessionStorage.getItem(key)));
    $(window).on("pagehide", keep);
  } catch {
    // Storage is blocked: what was typed lasts for this page.
  }
}

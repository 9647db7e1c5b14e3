// Replaces the marked parts of the page by those of a newer copy of the same page.
// A part is an element with data-live="name"; everything else, charts included, stays in place.

import $ from "../../lib/jquery.module.min.js";

// Replaces each region that `html` has too and whose content differs; returns their names, or null
// where `html` has no region at all.
export function replaceRegions(html) {
  const document_ = $($.parseHTML(html, true));
  const fresh = document_.find("[data-live]").addBack("[data-live]");
  const replaced = $("[data-live]").get().filter((region) => {
    const [next] = fresh.filter(`[data-live="${region.dataset.live}"]`);
    const isKept = !next || next.outerHTML === region.outerHTML || $(region).has("dialog[open]").length;
    if (!isKept) replaceRegion(region, next);
    return !isKept;
  });
  return fresh.length ? replaced.map((region) => region.dataset.live) : null;
}

function replaceRegion(region, next) {
  const focused = region.contains(document.activeElement) ? document.activeElement.id : "";
  $(region).find("details[open][id]").each((_, { id }) => {
    $(next).find(`#${$.escapeSelector(id)}`).prop("open", true);
  });
  $(region).replaceWith(next);
  if (focused) $(`#${$.escapeSelector(focused)}`).trigger("focus");
}

// Fetches this page again and takes over its title and regions; answers what was replaced, or null
// where the site is away or too busy, so that it has to be tried again.
export async function refreshPage() {
  let html = "";
  try {
    html = await $.get(window.location.href);
  } catch ({ status }) {
    if (![403, 404].includes(status)) return null;
  }
  const replaced = html && replaceRegions(html);
  // Signed out, no longer a member, or the link was revoked: the page itself says so.
  if (replaced) document.title = new DOMParser().parseFromString(html, "text/html").title;
  else window.location.reload();
  return replaced || [];
}

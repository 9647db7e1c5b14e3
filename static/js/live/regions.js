// Replaces the marked parts of the page by those of a newer copy of the same page.
// A part is an element with data-live="name"; everything else, charts included, stays in place.

import $ from "jquery";

// Where the focus can be, and what scrolls sideways.
const HANDLES = "a[href], button, input, select, summary, [tabindex]";

// Replaces each region that `html` has too and whose content differs, then fires `regionsreplaced`; returns
// their names, or null where `html` has no region at all.
export function replaceRegions(html) {
  const document_ = $($.parseHTML(html, true));
  const fresh = document_.find("[data-live]").addBack("[data-live]");
  const pairs = $("[data-live]").get().flatMap((region) => {
    const [next] = fresh.filter(`[data-live="${region.dataset.live}"]`);
    const isKept = !next || next.outerHTML === region.outerHTML || $(region).has("dialog[open]").length;
    return isKept ? [] : [[region, next]];
  });
  // All are looked at before any is replaced, so that the browser lays the page out once.
  const held = pairs.flatMap(heldOf);
  for (const [region, next] of pairs) {
    keepOpen(region, next);
    keepDrawn(region, next);
    $(region).replaceWith(next);
  }
  held.forEach(holdAgain);
  if (pairs.length) $(document).trigger("regionsreplaced");
  return fresh.length ? pairs.map(([region]) => region.dataset.live) : null;
}

// What a reader opened or closed stays so.
function keepOpen(region, next) {
  $(region).find("details[id]").each((_, { id, open }) => {
    $(next).find(`#${$.escapeSelector(id)}`).prop("open", open);
  });
}

// The frames of charts move into the newer copy: they get new data, and no canvas is made again.
function keepDrawn(region, next) {
  $(region).find("[data-kept]").each((_, frame) => {
    $(next).find("[data-kept]").filter((_i, each) => each.dataset.kept === frame.dataset.kept).replaceWith(frame);
  });
}

// What a reader has in hand of a region: where the focus is, and the frames that were scrolled.
function heldOf([region, next]) {
  const isHeld = (each) => each === document.activeElement || each.scrollLeft > 0;
  return $(region).find(HANDLES).get().filter(isHeld).map((each) => ({
    next: likeOf(each, region, next),
    left: each.scrollLeft,
    hasFocus: each === document.activeElement,
  }));
}

// The newer copy of an element: what is called the same, and of several the one at the same place.
function likeOf(element, region, next) {
  const named = (part) => $(part).find(HANDLES).get().filter((each) => nameOf(each) === nameOf(element));
  return named(next)[named(region).indexOf(element)];
}

// The words of what opens may count something, which goes on meanwhile.
function nameOf(element) {
  const { id, localName, parentElement, textContent } = element;
  if (localName === "summary" && parentElement.id) return `summary ${parentElement.id}`;
  return id || [localName, element.getAttribute("aria-label") ?? textContent, element.getAttribute("href")].join(" ");
}

// Without a leap of the page to what has the focus: the reader may be elsewhere by now.
function holdAgain({ next, left, hasFocus }) {
  if (!next) return;
  next.scrollLeft = left;
  if (hasFocus) next.focus({ preventScroll: true });
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

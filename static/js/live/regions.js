// Replaces the marked parts of the page by those of a newer copy of the same page.
// A part is an element with data-live="name"; everything else, charts included, stays in place.

const GAP_MS = 1000;

// Replaces each region that both documents have and whose content differs; returns their names.
export function replaceRegions(page, fresh) {
  const replaced = [];
  for (const region of page.querySelectorAll("[data-live]")) {
    const name = region.dataset.live;
    const next = fresh.querySelector(`[data-live="${CSS.escape(name)}"]`);
    if (!next || next.outerHTML === region.outerHTML || region.querySelector("dialog[open]")) continue;
    keepFocus(region, next);
    replaced.push(name);
  }
  return replaced;
}

function keepFocus(region, next) {
  const id = region.contains(document.activeElement) ? document.activeElement.id : "";
  for (const open of region.querySelectorAll("details[open][id]")) {
    next.querySelector(`#${CSS.escape(open.id)}`)?.setAttribute("open", "");
  }
  region.replaceWith(next);
  if (id) document.getElementById(id)?.focus();
}

// Fetches this page again and replaces its regions; answers what was replaced.
export async function refreshPage(address = window.location.href) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  // Signed out, no longer a member, or the link was revoked: the page itself says so.
  const isElsewhere = answer.redirected && new URL(answer.url).pathname !== new URL(address).pathname;
  if (isElsewhere || answer.status === 403 || answer.status === 404) {
    window.location.reload();
    return [];
  }
  if (!answer.ok) throw new Error(`The page answered ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  return replaceRegions(document, fresh);
}

// Calls `work` soon after each request, but never twice at once nor more often than once a second;
// what is asked for meanwhile is done once, afterwards.
export function coalesced(work, { gapMs = GAP_MS, later = setTimeout, now = Date.now } = {}) {
  let isBusy = false;
  let isWanted = false;
  let doneAt = -Infinity;

  async function turn() {
    isWanted = false;
    try {
      await work();
    } finally {
      doneAt = now();
      isBusy = false;
      if (isWanted) ask();
    }
  }

  function ask() {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    later(() => turn().catch(() => {}), Math.max(0, doneAt + gapMs - now()));
  }
  return ask;
}

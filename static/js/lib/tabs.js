// The parts of a page behind tabs. The address names the open one, or anything in it; without
// scripts all parts are shown.

import $ from "jquery";

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
let open = "";

const tabsOf = () => $("[role=tab]");
const panelOf = (tab) => tab.hash.slice(1);

// Shows what the address names, else the first; again after the tabs were replaced.
export function showTabs() {
  const tabs = tabsOf();
  const names = tabs.get().map(panelOf);
  if (!names.includes(open)) open = names[0] ?? "";
  tabs.each((_, tab) => {
    const isOpen = panelOf(tab) === open;
    $(tab).attr({ "aria-selected": isOpen, tabindex: isOpen ? 0 : -1 });
  });
  $("[data-tab-panel]").each((_, panel) => $(panel).prop("hidden", open !== "" && panel.id !== open));
}

function followAddress() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const [panel] = $(named).closest("[data-tab-panel]");
  if (!panel) return;
  open = panel.id;
  showTabs();
  if (named !== panel) named.scrollIntoView();
}

function choose(tab) {
  open = panelOf(tab);
  history.replaceState(history.state, "", tab.hash);
  showTabs();
}

$(document)
  .on("click", "[role=tab]", (event) => {
    event.preventDefault();
    choose(event.currentTarget);
  })
  .on("keydown", "[role=tab]", (event) => {
    const step = STEPS[event.key];
    if (!step) return;
    const tabs = tabsOf();
    const next = tabs.get((tabs.index(event.currentTarget) + step) % tabs.length);
    choose(next);
    next.focus();
  });
$(window).on("hashchange", followAddress);
// Paper has all parts that have a tab; they are shown before their charts are drawn for it.
window.addEventListener("beforeprint", () => {
  const names = tabsOf().get().map(panelOf);
  $("[data-tab-panel]").filter((_, panel) => names.includes(panel.id)).prop("hidden", false);
}, { capture: true });
window.addEventListener("afterprint", showTabs);
showTabs();
followAddress();

// Menus are <details class="menu">: they work without this; here they also close by themselves.

import $ from "jquery";

$(document)
  .on("click", (event) => {
    $("details.menu[open]").not($(event.target).closest("details.menu")).prop("open", false);
  })
  .on("keydown", "details.menu[open]", (event) => {
    const menu = $(event.currentTarget);
    if (event.key === "Escape") menu.prop("open", false).children("summary").trigger("focus");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target.type === "radio") return;
    event.preventDefault();
    const items = menu.find(".menu-items a, .menu-items button");
    const at = items.index(document.activeElement);
    const isFromBelow = at < 0 && step < 0; // from the menu's head to its last item
    items.eq(isFromBelow ? -1 : (at + step) % items.length).trigger("focus");
  });

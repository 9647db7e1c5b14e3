// Menus are <details class="menu">: they work without this; here they also close by themselves.

function closeOthers(open) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== open) menu.open = false;
  }
}

function closeAndReturn(menu) {
  menu.open = false;
  menu.querySelector("summary").focus();
}

function moveFocus(menu, step) {
  const items = [...menu.querySelectorAll(".menu-items a, .menu-items button")];
  const at = items.indexOf(document.activeElement);
  const next = items[(at + step + items.length) % items.length];
  if (next) next.focus();
}

export function initMenus() {
  document.addEventListener("click", (event) => closeOthers(event.target.closest("details.menu")));
  document.addEventListener("keydown", (event) => {
    const menu = event.target.closest?.("details.menu[open]");
    if (!menu) return;
    if (event.key === "Escape") closeAndReturn(menu);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && event.target.type !== "radio") {
      event.preventDefault();
      moveFocus(menu, step);
    }
  });
}

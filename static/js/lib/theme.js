// The theme switch: system, light or dark, kept in localStorage. Fires `themechange`.

import $ from "jquery";

const CHOICES = ["system", "light", "dark"];

function storedTheme() {
  try {
    const stored = localStorage.getItem("theme");
    return CHOICES.includes(stored) ? stored : "system";
  } catch {
    return "system";
  }
}

function remember(choice) {
  try {
    localStorage.setItem("theme", choice);
  } catch {
    // Storage is blocked: the choice lasts for this page.
  }
}

function announce() {
  document.dispatchEvent(new CustomEvent("themechange"));
}

$("input[name=theme]")
  .val([storedTheme()])
  .on("change", (event) => {
    const choice = event.target.value;
    $("html").attr("data-theme", choice === "system" ? null : choice);
    remember(choice);
    announce();
  });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announce);

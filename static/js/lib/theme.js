// The theme switch: system, light or dark, kept in localStorage. Fires `themechange`.

const CHOICES = ["system", "light", "dark"];

export function storedTheme() {
  try {
    const stored = localStorage.getItem("theme");
    return CHOICES.includes(stored) ? stored : "system";
  } catch {
    return "system";
  }
}

export function setTheme(choice) {
  if (choice === "system") {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = choice;
  }
  remember(choice);
  announce();
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

export function initTheme() {
  for (const radio of document.querySelectorAll("input[name=theme]")) {
    radio.checked = radio.value === storedTheme();
    radio.addEventListener("change", () => setTheme(radio.value));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announce);
}

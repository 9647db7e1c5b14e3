// Copies the link that is shown this once.

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    const said = button.parentElement.querySelector("[role=status]");
    try {
      await navigator.clipboard.writeText(source.textContent);
      said.textContent = "Copied.";
    } catch {
      window.getSelection().selectAllChildren(source);
      said.textContent = "Selected: copy it with the keyboard.";
    }
  });
}

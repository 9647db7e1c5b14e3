// Buttons with data-dialog open the dialog of that id; data-close closes the one they stand in.

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (opener) document.getElementById(opener.dataset.dialog)?.showModal();
  if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
});

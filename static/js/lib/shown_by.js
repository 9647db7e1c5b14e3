// Rows that belong to a choice: [data-shown-by=radio name][data-shown-for="value value"].

export function initShownBy(form) {
  function show() {
    for (const row of form.querySelectorAll("[data-shown-by]")) {
      const chosen = form.querySelector(`input[name=${row.dataset.shownBy}]:checked`)?.value;
      row.hidden = !row.dataset.shownFor.split(" ").includes(chosen);
    }
  }
  form.addEventListener("input", show);
  show();
}

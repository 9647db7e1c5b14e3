// Classic script in <head>: applies the stored theme before the first paint.
(function () {
  try {
    var stored = localStorage.getItem("theme");
    if (stored === "light" || stored === "dark") {
      document.documentElement.dataset.theme = stored;
    }
  } catch (error) {
    // Storage is blocked: the system's theme it is.
  }
})();

// Runs before anything is drawn: light or dark, as chosen before or as the system says.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("symveil-theme"); } catch { /* storage may be forbidden */ }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();

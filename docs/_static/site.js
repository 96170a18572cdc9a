// Numbers in tables stay in one line; the table scrolls.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".bd-article td").forEach((cell) => {
    cell.classList.toggle("short", cell.textContent.length <= 28);
  });
});

// Formulas in a line that are wider than the line scroll inside themselves.
window.addEventListener("load", () => {
  if (!window.MathJax || !MathJax.startup) return;
  const look = () => document.querySelectorAll("mjx-container:not([display])").forEach((formula) => {
    formula.classList.remove("wide");
    formula.classList.toggle("wide", formula.offsetWidth > formula.parentElement.clientWidth);
  });
  MathJax.startup.promise.then(look);
  window.addEventListener("resize", look);
});

// Diagrams of scikit-learn guess their theme once; here they follow that of the page.
const follow = () => document.querySelectorAll(".sk-global").forEach((diagram) => {
  diagram.classList.remove("light", "dark");
  diagram.classList.add(document.documentElement.dataset.theme);
});
window.addEventListener("load", follow);
new MutationObserver(follow).observe(document.documentElement, { attributeFilter: ["data-theme"] });

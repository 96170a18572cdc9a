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

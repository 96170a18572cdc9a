// Pages are ranked by all words of a query, not by the best one alone. Pages that explain come
// before the reference, measurements and lists. scikit-learn's name of a class finds ours.
const _SECTIONS = [
  [/^(user_guide|understand)\/(?!index$)|^(install|limitations|epsilon_inf)$/, 6],
  [/^(theory|solvers)\/(?!index$)/, 2],
  [/(^|\/)index$|^(changelog|glossary)$/, -6],
];
var Scorer = {
  score: ([docname, name, , , score, , kind]) => {
    const query = (new URLSearchParams(window.location.search).get("q") ?? "").trim();
    const index = Search._index, file = index.docnames.indexOf(docname);
    const has = (terms, word) => [].concat(terms[word] ?? []).includes(file);
    if (kind === "text") {
      const words = [...Search._parseQuery(query)[1]], title = index.titles[file].toLowerCase();
      // Names of classes are one word of a title, and hold several of a query.
      score = words.reduce((sum, word) => sum + (word.length > 2 && title.includes(word)
        ? Scorer.title + 5 : has(index.titleterms, word) ? Scorer.title
          : has(index.terms, word) ? Scorer.term : Scorer.partialTerm), 0) / words.length;
    } else if (kind === "object" && [query, `DP${query}`].includes(name.split(".").at(-1))) {
      score += 20;
    }
    return score + (_SECTIONS.find(([pages]) => pages.test(docname))?.[1] ?? 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

"""Search as the built site does it, without a browser: the rules of Sphinx's searchtools.js."""

import json
import re

from tests.site.browsing import SITE

#: As docs/_ext/scorer.js has them.
_TITLE, _TERM, _PARTIAL_TERM = 15, 5, 2
_OBJECT, _PARTIAL_OBJECT = 11, 6
_PRIORITY = {0: 15, 1: 5, 2: -5}
_SECTIONS = [
    (re.compile(r"(user_guide|understand)/(?!index$)|(install|limitations|epsilon_inf)$"), 6),
    (re.compile(r"(theory|solvers)/(?!index$)"), 2),
    (re.compile(r"(.*/)?index$|(changelog|glossary)$"), -6),
]


def read_index():
    """Return the index that the site ships."""
    text = (SITE / "searchindex.js").read_text("utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))


def _words(query):
    return re.findall(r"\w+", query)


def _files(found):
    return [found] if isinstance(found, int) else found


def _of_titles(index, query):
    for title, places in index["alltitles"].items():
        if query in title.lower().strip() and len(query) >= len(title) / 2:
            for file, _ in places:
                main = index["titles"][file] == title
                yield file, int(_TITLE * len(query) / len(title) + 0.5) + main
    for entry, places in index["indexentries"].items():
        if query in entry and len(query) >= len(entry) / 2:
            for file, _, _ in places:
                yield file, int(100 * len(query) / len(entry) + 0.5)


def _of_objects(index, query, terms):
    for prefix, objects in index["objects"].items():
        for file, kind, priority, _, name in objects:
            full = f"{prefix}.{name}".lstrip(".").lower()
            last = full.rpartition(".")[2]
            for term in terms:
                rest = f"{prefix} {name} {index['objnames'][str(kind)][2]} "
                rest = (rest + index["titles"][file]).lower()
                if term in full and all(each in rest for each in terms - {term}):
                    score = (_OBJECT if term in (full, last) else
                             _PARTIAL_OBJECT if term in last else 0)
                    named = name.rpartition(".")[2] in (query, f"DP{query}")
                    yield file, score + _PRIORITY.get(priority, 0) + 20 * named


def _of_terms(index, words):
    found = {}
    for word in words:
        for table in (index["terms"], index["titleterms"]):
            partly = [files for term, files in table.items()
                      if word in term] if len(word) > 2 and word not in table else []
            for files in [table.get(word, []), *partly]:
                for file in _files(files):
                    found.setdefault(file, set()).add(word)
    long = sum(len(word) > 2 for word in words)
    for file, held in found.items():
        if len(held) in (len(words), long):
            title = index["titles"][file].lower()
            scores = [_TITLE + 5 if len(word) > 2 and word in title else
                      _TITLE if file in _files(index["titleterms"].get(word, [])) else
                      _TERM if file in _files(index["terms"].get(word, [])) else _PARTIAL_TERM
                      for word in words]
            yield file, sum(scores) / len(scores)


def _bonus(name):
    return next((bonus for pages, bonus in _SECTIONS if pages.match(name)), 0)


def search(index, query, language):
    """Return the pages that a query finds, best first."""
    terms = [word.lower() for word in _words(query)]
    words = list(dict.fromkeys(language.stem(word) for word in terms
                               if word not in language.stopwords and not word.isdigit()))
    best = {}
    for file, score in (*_of_titles(index, query.lower().strip()),
                        *_of_objects(index, query.strip(), set(terms)), *_of_terms(index, words)):
        total = score + _bonus(index["docnames"][file])
        best[file] = max(total, best.get(file, total))
    order = sorted(reversed(best), key=lambda file: (-best[file], index["titles"][file].lower()))
    return [index["docnames"][file] for file in order]

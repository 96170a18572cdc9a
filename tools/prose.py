"""Check that README, site and public docstrings are plain: python tools/prose.py [FILE ...]

Prints file, line and a better word for each finding; the exit status is 1 if there is any. Every
page is held to the rules, a new one too.
"""

import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LONGEST_SENTENCE, LONGEST_PARAGRAPH, LONGEST_DOCSTRING_LINE = 32, 110, 80

#: Words of ours, and the field's.
WORDS = {
    r"sharp edges?": "limitations",
    r"people of several rows|person level": "user-level privacy",
    r"values of states": "policy evaluation",
    r"drawn rows?|rows like those": "synthetic data",
    r"gaps in (?:the|a) table|columns? with gaps": "missing values",
    r"columns? of words|words and gaps": "categorical features",
    r"loss laws?": "privacy loss distribution",
    r"head-?room": "rounding slack",
    r"hats|hat functions?": "linear B-spline basis",
    r"public draws?": "public randomness",
    r"on trust": "unverified assumption",
    r"fixed maps?|row maps?": "feature extractor, or per-sample transform",
    r"knots found under noise": "privately estimated quantiles",
    r"at no price|for no price|the price of": "privacy cost",
    r"what is left": "the remaining budget, or the remainder",
    r"in the place of": "instead of",
    r"twice is as once": "idempotent",
    r"beside|aside": "with, next to, or compared with",
    r"that of which|those of which": "name the thing again",
    r"those of": "repeat the noun",
}
_WORDS = [(re.compile(rf"\b(?:{ours})\b", re.IGNORECASE), better)
          for ours, better in WORDS.items()]
_WHAT = re.compile(r"What\b[^?]*\.$")
_DIGITS = re.compile(r"(?<![\w.])\d*\.\d{10,}")
_FENCE = re.compile(r"^ *(`{3,}|~{3,}|:{3,})")
#: Starts of a block of its own: a heading, an entry of a list, a row of a table.
_BLOCK = re.compile(r"^\s*(?:#+ |[-*+] |\d+\. |\|)")
_HIDDEN = [
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"`+[^`]*`+"), "code"),
    (re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL), "x"),
    (re.compile(r"https?://\S+"), "address"),
]
_END = re.compile(r"(?<=[.!?])[*_)\"”]*\s+(?=[\"“(*_`]*[A-Z\d\"“`$])")


def _blocks(text):
    """Yield (line, text) of paragraphs, headings, entries of lists and rows of tables."""
    fence, start, held = None, 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark[1].startswith(fence) and not line.strip(" `~:"):
                fence = None
            continue
        ends = not line.strip() or mark or _BLOCK.match(line)
        if held and ends:
            yield start, "\n".join(held)
            held = []
        if mark:
            fence = mark[1]
        elif line.strip() and (held or not line.startswith("    ")):
            start, held = start if held else number, [*held, line]


def _plain(block):
    for pattern, shown in _HIDDEN:
        block = pattern.sub(shown, block)
    return block


def _count(text):
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def findings(text):
    """Yield (line, message) of everything in a page of Markdown that is not plain."""
    for start, block in _blocks(text):
        shown = _plain(block)
        for pattern, better in _WORDS:
            for match in pattern.finditer(shown):
                yield start, f'"{match[0]}": {better}'
        for match in _DIGITS.finditer(shown):
            yield start, f'"{match[0]}": three or four digits'
        if block.lstrip().startswith(("|", "#", "$$")):
            continue
        if _count(shown) > LONGEST_PARAGRAPH:
            yield start, f"a paragraph of {_count(shown)} words: at most {LONGEST_PARAGRAPH}"
        for sentence in _END.split(" ".join(shown.split())):
            bare = sentence.lstrip("-*+ ")
            if _count(sentence) > LONGEST_SENTENCE:
                yield start, (f'a sentence of {_count(sentence)} words: at most '
                              f'{LONGEST_SENTENCE}: "{bare[:40]}..."')
            if _WHAT.match(bare):
                yield start, f'"{bare[:30]}...": a noun as the subject'


def docstring_findings(first):
    """Yield a message for everything in the first line of a docstring that is not plain."""
    if len(first) > LONGEST_DOCSTRING_LINE:
        yield f"{len(first)} characters: at most {LONGEST_DOCSTRING_LINE}"
    if re.match("(What|That|Whether) ", first):
        yield f'"{first[:30]}...": the imperative or a noun phrase'
    for pattern, better in _WORDS:
        for match in pattern.finditer(first):
            yield f'"{match[0]}": {better}'


def _public_docstrings():
    """Yield (file:line, first line) of docstrings of all public objects and their members."""
    sys.path.insert(0, str(ROOT))
    from tests.public import own_members, public_objects

    for item in public_objects().values():
        members = own_members(item).values() if inspect.isclass(item) else ()
        for each in (item, *members):
            code = inspect.unwrap(getattr(each, "fget", None) or each)
            if inspect.isclass(code) or inspect.isfunction(code):
                file = Path(inspect.getsourcefile(code)).relative_to(ROOT)
                line = inspect.getsourcelines(code)[1]
                yield f"{file}:{line}", (inspect.getdoc(code) or "").partition("\n")[0]


def pages():
    """Return README and the pages of the site, relative to the root; none that a build makes."""
    made = {"_build", "auto_examples", "generated", "_templates"}
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in found
            if not made.intersection(path.relative_to(ROOT).parts)]


def main(arguments):
    """Print the findings in some pages, by default in all; return their number."""
    names = arguments or pages()
    found = [f"{name}:{line}: {message}" for name in names
             for line, message in findings((ROOT / name).read_text(encoding="utf-8"))]
    if not arguments:
        found += dict.fromkeys(f"{place}: {message}" for place, first in _public_docstrings()
                               for message in docstring_findings(first))
    print("\n".join(found))
    return len(found)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)

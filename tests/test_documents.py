"""The pages: what they show runs, and what they point to is there."""

import contextlib
import csv
import doctest
import io
import re
import warnings
from pathlib import Path

import pytest

from tests.loops import in_a_row

_ROOT = Path(__file__).parent.parent
#: What Sphinx writes is no page of ours.
_MADE = {"_build", "auto_examples", "generated"}
_PAGES = [path.relative_to(_ROOT).as_posix() for path in sorted(
    [*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")])
    if not _MADE.intersection(path.relative_to(_ROOT).parts)]
#: Paths of this repository in code quotes, a glob where one stands for several.
_PATH = re.compile(r"`((?:dpsk|tests|docs|examples|benchmarks)/[\w./*-]*)`")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d[\w.+-]*")


def _text(page):
    return (_ROOT / page).read_text(encoding="utf-8")


def _blocks(page):
    """Return the (language, code) of all fenced blocks."""
    return _BLOCK.findall(_text(page))


_SHOWN = [page for page in _PAGES
          if any(language in ("python", "pycon") for language, _ in _blocks(page))]
#: Pages that audit, or start workers.
_SLOW = {"docs/user_guide/auditing.md", "docs/user_guide/parallel_fits.md"}


def _words(text):
    """Return the lines of an output without their numbers, which noise and versions change."""
    return [_NUMBER.sub("#", line).split() for line in text.strip().splitlines()]


def _run_session(code, namespace, page):
    """Run a session, whose output must be what the page shows."""
    session = doctest.DocTestParser().get_doctest(code, {}, page, page, 0)
    session.globs = namespace
    report = io.StringIO()
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        session, out=report.write, clear_globs=False)
    assert not report.getvalue(), report.getvalue()


@pytest.mark.parametrize("page", [
    pytest.param(page, marks=pytest.mark.thorough if page in _SLOW else ()) for page in _SHOWN])
def test_the_snippets_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace, said = {"__name__": "__main__"}, None
    with warnings.catch_warnings():
        # Also the warning of a weak delta: no page recommends one.
        warnings.simplefilter("error")
        for language, code in _blocks(page):
            if language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    exec(compile(code, page, "exec"), namespace)
                said = output.getvalue()
                assert "Error" not in said
            elif language == "pycon":
                _run_session(code, namespace, page)
            elif language == "output":
                assert code == said
            elif language == "text" and said is not None:
                # Text after a snippet is what that printed, but for numbers that noise changes.
                assert _words(code) == _words(said)
            if language != "python":
                said = None


def _targets(page):
    """Yield what a page links to, relative to the page, without anchors and the web."""
    for target in re.findall(r"\]\(([^)\s]+)\)", _text(page)):
        if not target.startswith(("http", "#")):
            yield target.partition("#")[0]


def _anchors(page):
    """Return the anchors of the headings of a page, as code hosts and Sphinx make them."""
    headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", _text(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@in_a_row("page", _PAGES)
def test_links_and_paths_lead_to_files(page):
    lost = [target for target in _targets(page) if not (_ROOT / page).parent.joinpath(
        target).exists()]
    # The changelog speaks of what was there.
    if page != "CHANGELOG.md":
        lost += [name for name in _PATH.findall(_text(page))
                 if not _MADE.intersection(name.split("/")) and not list(_ROOT.glob(name))]
    assert not lost


@in_a_row("page", _PAGES)
def test_anchors_lead_to_headings(page):
    for target in re.findall(r"\]\(([^)\s:]*#[^)\s]+)\)", _text(page)):
        name, _, anchor = target.partition("#")
        path = (_ROOT / page).parent.joinpath(name).resolve() if name else _ROOT / page
        assert path.suffix != ".md" or anchor in _anchors(path), target


def _listed(page):
    """Yield the pages of a page's toctrees; those that a build writes are not there yet."""
    folder = (_ROOT / page).parent
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```", _text(page), re.MULTILINE | re.DOTALL):
        for entry in (line for line in block.splitlines() if line and not line.startswith(":")):
            name = entry.partition("<")[2].rstrip(">") or entry
            yield from folder.glob(f"{name}.md") if "*" in name else [folder / f"{name}.md"]


def test_every_page_can_be_found_from_the_readme():
    found, waiting = set(), {"README.md"}
    while waiting:
        page = waiting.pop()
        found.add(page)
        targets = [(_ROOT / page).parent / target for target in _targets(page)]
        for path in (each.resolve() for each in [*targets, *_listed(page)] if each.exists()):
            pages = sorted(path.glob("*.md")) if path.is_dir() else [path]
            waiting |= {each.relative_to(_ROOT).as_posix() for each in pages
                        if each.suffix == ".md"} - found
    assert set(_PAGES) - found <= {"CHANGELOG.md"}


def test_numbers_of_the_front_picture_stand_on_their_pages():
    with (_ROOT / "docs/results/front_page.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            shown = [line for line in _text(f"docs/results/{row['page']}").splitlines()
                     if f"| {row['epsilon']} |" in line]
            assert any(re.search(rf"\| {re.escape(row['value'])}\b", line) for line in shown), row


def _title(text):
    """Return a heading without the date behind it."""
    return re.sub(r" \(.*\)$", "", text.removeprefix("# ").strip()).replace("\\", "")


def test_titles_that_benchmarks_write_are_those_of_the_pages():
    titles = {_title(_text(page).splitlines()[0]) for page in _PAGES}
    written = {(path.name, _title(found)) for path in (_ROOT / "benchmarks").rglob("*.py")
               for found in re.findall(r'(?:f?"{1,3})(# [^\n]*?)(?:"[,\n]|\n)',
                                       path.read_text(encoding="utf-8"))}
    assert len(written) > 20
    assert {(name, title) for name, title in written if title not in titles} == set()

"""The pages: what they show runs, and what they point to is there."""

import csv
import re
import warnings
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_PAGES = [path.relative_to(_ROOT).as_posix() for path in sorted(
    [*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")])]
_SHOWN = ["README.md", "docs/index.md", "docs/guide.md", "docs/sharp_edges.md"]
#: Paths of this repository in code quotes, a glob where one stands for several.
_PATH = re.compile(r"`((?:dpsk|tests|docs|examples|benchmarks)/[\w./*-]*)`")


def _text(page):
    return (_ROOT / page).read_text(encoding="utf-8")


def _blocks(page):
    return re.findall(r"^```python\n(.*?)^```", _text(page), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", _SHOWN)
def test_the_snippets_of_a_page_run_in_their_order(page, capsys):
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        # Also the warning of a weak delta: no page recommends one.
        warnings.simplefilter("error")
        for block in _blocks(page):
            exec(compile(block, page, "exec"), namespace)
    assert _blocks(page) and "Error" not in capsys.readouterr().out


def _targets(page):
    """Yield what a page links to, relative to the page, without anchors and the web."""
    for target in re.findall(r"\]\(([^)\s]+)\)", _text(page)):
        if not target.startswith(("http", "#")):
            yield target.partition("#")[0]


@pytest.mark.parametrize("page", _PAGES)
def test_links_and_paths_lead_to_files(page):
    lost = [target for target in _targets(page) if not (_ROOT / page).parent.joinpath(
        target).exists()]
    # The changelog speaks of what was there.
    if page != "CHANGELOG.md":
        lost += [name for name in _PATH.findall(_text(page)) if not list(_ROOT.glob(name))]
    assert not lost


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

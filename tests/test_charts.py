"""The charts of pages of results: each page has one, and it draws what its table says."""

import importlib
import io
import re
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_RESULTS = sorted((_ROOT / "docs" / "results").glob("*.md"))
#: Pages without a picture, and why.
_WITHOUT = {"index.md": "a list of pages"}
#: A picture or a chart, and the first row of a table.
_SHOWN = re.compile(r"^(?:!\[|```\{chart\})", re.MULTILINE)
_TABLE = re.compile(r"^\|", re.MULTILINE)
_PAGE = """# A page

```{chart} One is above two
OPTIONS
```

Words.

```text
| no | table |
|---|---|
| 1 | 2 |
```

| table | epsilon | **one** | [two](of.md) | epsilon .5 | 4 |
|---|---|---|---|---|---|
| a | 1 | 2.5 ± 0.5 (1) | .5 | 1 (3) | 2 |
| a | 4 | 3 (2) | - | .5 (2) | 7, 0.1 s |
| b \\| c | 1 | | too few rows | -1 (-2) | 1,000 |

| other |
|---|
| 1 |
"""


@pytest.fixture
def tables(monkeypatch):
    """The extension that reads tables."""
    monkeypatch.syspath_prepend(str(_ROOT / "docs" / "_ext"))
    yield importlib.import_module("chart_tables")
    sys.modules.pop("chart_tables", None)


@pytest.fixture
def pictures(tables):
    """The extension that draws them."""
    for needed in ("sphinx", "matplotlib"):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    yield importlib.import_module("charts")
    sys.modules.pop("charts", None)


def _read(tables, *options):
    (title, found, rest), = tables.charts(_PAGE.replace(
        "OPTIONS", "\n".join(f":{option}" for option in options)))
    assert title == "One is above two"
    return tables.read(found, rest)


@pytest.mark.parametrize("page", _RESULTS, ids=lambda page: page.name)
def test_a_page_of_results_has_a_picture_before_its_table(page):
    text = page.read_text(encoding="utf-8")
    shown, table = _SHOWN.search(text), _TABLE.search(text)
    assert (shown is None) == (page.name in _WITHOUT)
    assert shown is None or table is None or shown.start() < table.start()


def test_every_chart_reads_its_table(tables):
    found = {page.name: tables.charts(page.read_text(encoding="utf-8")) for page in _RESULTS}
    assert sum(map(len, found.values())) > 30
    for page in _RESULTS:
        text = page.read_text(encoding="utf-8")
        assert len(found[page.name]) == text.count("```{chart}"), page
        for _, options, rest in found[page.name]:
            assert sum(len(series.points) for series in tables.read(options, rest).series) > 1


@pytest.mark.parametrize(("cell", "read"), [
    (".817 (.765)", (0.817, None, ".765")), ("+0.0210 ± 0.0025", (0.021, 0.0025, None)),
    ("12%", (12, None, None)), ("12 %", (12, None, None)), ("1e-3", (0.001, None, None)),
    ("7.04e-02 ± 2e-04, 1.2 s", (0.0704, 2e-4, None)), ("1,000", (1000, None, None)),
    ("-0.041!", (-0.041, None, None)), ("0.986 (1.33), 100%", (0.986, None, "1.33")),
    *((empty, (None,) * 3) for empty in ("", "-", "-, 0.368", "nan", "too few rows"))])
def test_cells_are_read(tables, cell, read):
    assert tables.numbers(cell) == read


@pytest.mark.parametrize("cell", ["36 MB", "1 2", "1/2", "<.001", "7.4 to 9.1", "1.2.3", "O.5"])
def test_a_cell_that_cannot_be_read_is_refused(tables, cell):
    with pytest.raises(ValueError, match=re.escape(repr(cell))):
        tables.numbers(cell)


def test_dots_have_a_row_a_label_and_no_row_without_numbers(tables):
    chart = _read(tables, "label: table | epsilon", "values: one | two", "mark: 0", "log:")
    assert (chart.labels, chart.axis, chart.log, chart.mark) == (
        ["a, epsilon 1", "a, epsilon 4"], "one", True, 0)
    assert [(series.name, series.points) for series in chart.series] == [
        ("one", [(0, 2.5, 0.5), (1, 3, None)]), ("two", [(0, 0.5, None)])]


def test_lines_run_along_a_column(tables):
    chart = _read(tables, "x: epsilon", "values: one", "rows: table = a", "axis: AUC")
    (line,) = chart.series
    assert (line.name, line.points, chart.x, chart.axis) == (
        "a", [(1, 2.5, 0.5), (4, 3, None)], "epsilon", "AUC")


def test_lines_run_along_heads_and_brackets_are_dashed(tables):
    chart = _read(tables, "x: epsilons", "values: epsilon .5 | 4", "rows: epsilon = 1",
                  "brackets: theirs")
    assert [(series.name, series.points, series.dashed) for series in chart.series] == [
        ("a", [(0.5, 1, None), (4, 2, None)], False), ("theirs", [(0.5, 3, None)], True),
        ("b | c", [(0.5, -1, None), (4, 1000, None)], False), ("theirs", [(0.5, -2, None)], True)]
    (only, _) = _read(tables, "x: epsilons", "values: epsilon .5", "rows: epsilon = 1",
                      "brackets: only").series
    assert only.points == [(0.5, 3, None)]


def test_another_table_is_drawn(tables):
    (series,) = _read(tables, "table: 2", "values: other").series
    assert series.points == [(0, 1, None)]


@pytest.mark.parametrize(("options", "said"), [
    (["values: three"], "no column 'three'"),
    (["values: table"], "column 'table': no number in it"),
    (["values: one", "rows: epsilon = 2"], "column 'epsilon': no cell is ['2']"),
    (["values: one", "table: 3"], "table 3"),
    (["values: one", "x: epsilons"], "no number in the head 'one'"),
    (["values: epsilon .5", "x: epsilon", "label: epsilon"], "several at one place"),
    (["values: " + " | ".join(["one"] * 9)], "more than 8 series")])
def test_a_chart_that_cannot_be_read_says_where(tables, options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        _read(tables, *options)


def test_a_picture_has_the_same_bytes_and_colors_of_its_theme(tables, pictures):
    chart = _read(tables, "label: table | epsilon", "values: one | two", "log:")
    picture = pictures.drawn(chart)
    assert picture == pictures.drawn(chart)
    assert ">a, epsilon\u00a01</text>" in picture and "DejaVu" not in picture
    assert set(re.findall("#[0-9a-f]{6}", picture)) == {"#48566b", "#0b62c4", "#c4570b"}
    assert set(re.findall("#[0-9a-f]{6}", pictures.dark(picture))) == {
        "#ced6dd", "#6db3ff", "#ff9d57"}


def _built(tmp_path, page):
    """Return the page as HTML, and the warnings."""
    from sphinx.application import Sphinx
    (tmp_path / "index.md").write_text(page, encoding="utf-8")
    said = io.StringIO()
    Sphinx(tmp_path, None, tmp_path / "out", tmp_path / "trees", "html", status=None, warning=said,
           confoverrides={"extensions": ["myst_parser", "charts"]}).build()
    return (tmp_path / "out" / "index.html").read_text(encoding="utf-8"), said.getvalue()


@pytest.mark.filterwarnings("ignore:.* is deprecated")
def test_a_page_shows_its_chart_in_both_themes(pictures, tmp_path):
    pytest.importorskip("myst_parser", reason="MyST is not installed")
    page, said = _built(tmp_path, _PAGE.replace("OPTIONS", ":values: one"))
    assert "of.md" in said and "chart of" not in said
    assert page.count('alt="One is above two"') == 2
    assert {path.name for path in (tmp_path / "out" / "_images").iterdir()} == {
        "index-0-light.svg", "index-0-dark.svg"}
    page, said = _built(tmp_path, _PAGE.replace("OPTIONS", ":values: one").replace("2.5", "2.x"))
    assert "chart of index: column 'one': '2.x ± 0.5 (1)' is no number" in said

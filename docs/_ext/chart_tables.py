"""The numbers that a chart draws: those of a table of its own page, read from Markdown."""

import re
from dataclasses import dataclass

_CHART = re.compile(r"^```\{chart\} (.*)\n((?::.*\n)*)```$", re.MULTILINE)
_OPTION = re.compile(r"^:(\w+):[ ]*(.*)$", re.MULTILINE)
_FENCED = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^\|.*\n\|[-:| ]+\|\n(?:\|.*(?:\n|\Z))*", re.MULTILINE)
#: Bold, code, links and escapes, by what a reader sees.
_MARKUP = [(re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"), (re.compile(r"\*\*|`"), ""),
           (re.compile(r"\\(.)"), r"\1")]
_NUMBER = r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d*\.?\d+)(?:e[+-]?\d+)?"
#: A number, its spread, another in brackets, and words after a comma.
_CELL = re.compile(rf"({_NUMBER})!?(?: ± ({_NUMBER}))?(?: ?%)?(?: \(([^)]*)\))?(?:, .*)?")
#: A cell without a number: empty, a dash, or words such as "too few rows".
_MISSING = re.compile(r"-(?:, .*)?|\D*")


#: Series that can be told from each other.
MOST = 8


@dataclass(frozen=True)
class Series:
    """What has one color: `points` are (place, value, spread); a spread may be None."""

    name: str
    points: list
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines over numbers if `x` names these, else dots in a row for each of `labels`."""

    series: list
    labels: list
    x: str | None
    axis: str
    log: bool
    mark: float | None


def charts(text):
    """Return (title, options, text behind it) of every chart of a page."""
    return [(found[1], dict(_OPTION.findall(found[2])), text[found.end():])
            for found in _CHART.finditer(text)]


def _plain(cell):
    for pattern, shown in _MARKUP:
        cell = pattern.sub(shown, cell)
    return cell.strip()


def tables(text):
    """Return (heads, rows) of every table outside of fenced blocks, as plain text."""
    found = []
    for match in _TABLE.finditer(_FENCED.sub("", text)):
        heads, _, *rows = [[_plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
                           for line in match[0].splitlines()]
        found.append((heads, rows))
    return found


def _float(text):
    return float(text.replace(",", ""))


def numbers(cell):
    """Return (value, spread, text in brackets) of a cell; all are None where it has no number.

    Raises
    ------
    ValueError
        If the cell has a number, but is not of the form of one.
    """
    if _MISSING.fullmatch(cell):
        return None, None, None
    found = _CELL.fullmatch(cell)
    if found is None:
        raise ValueError(f"{cell!r} is no number")
    return _float(found[1]), found[2] and _float(found[2]), found[3]


def _column(heads, name):
    """Return the first column of this head, or else the first that begins so."""
    for fits in (str.__eq__, str.startswith):
        for column, head in enumerate(heads):
            if fits(head, name) and (name or not head):
                return column
    raise ValueError(f"no column {name!r}; there are {', '.join(map(repr, heads))}")


def _listed(text):
    return [entry.strip() for entry in text.split("|")]


def _chosen(heads, rows, conditions):
    """Return the rows whose cells are among those named, column by column."""
    wanted = {}
    for condition in conditions:
        name, _, value = (part.strip() for part in condition.partition("="))
        wanted.setdefault(_column(heads, name), []).append(value)
    for column, values in wanted.items():
        lost = set(values) - {row[column] for row in rows}
        if lost:
            raise ValueError(f"column {heads[column]!r}: no cell is {sorted(lost)}")
    return [row for row in rows if all(row[column] in values
                                       for column, values in wanted.items())]


def _label(heads, row, columns):
    """Return what names a row; numbers follow the heads of their columns."""
    parts = []
    for column in columns:
        cell = row[column]
        named = heads[column] and re.fullmatch(_NUMBER, cell)
        parts += [f"{heads[column]} {cell}" if named else cell] if cell else []
    return ", ".join(parts)


class _Reader:
    """Cells of a table by row and by the name of a column."""

    def __init__(self, heads, rows, options):
        self.heads, self.rows = heads, rows
        self.names = _listed(options["values"])
        self.columns = {name: _column(heads, name) for name in self.names}
        self.brackets = options.get("brackets")
        for name in self.names:
            if all(self.point(row, name)[0] is None for row in rows):
                raise ValueError(f"column {name!r}: no number in it")

    def _numbers(self, row, name):
        try:
            return numbers(row[self.columns[name]])
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from None

    def inside(self, row, name):
        """Return (value, spread) of the brackets of a cell."""
        text = self._numbers(row, name)[2] or ""
        try:
            return numbers(text)[:2]
        except ValueError as error:
            raise ValueError(f"column {name!r}, brackets: {error}") from None

    def point(self, row, name):
        """Return (value, spread) of a cell, or of its brackets where only these are drawn."""
        return (self.inside if self.brackets == "only" else self._numbers)(row, name)[:2]

    def number(self, row, column):
        """Return the number of a cell that has to have one."""
        value = numbers(row[column])[0]
        if value is None:
            raise ValueError(f"column {self.heads[column]!r}: {row[column]!r} is no number")
        return value

    def series(self, name, cells):
        """Return a series of (place, row, column), and that of brackets where it is drawn."""
        readers = [("", self.point)]
        if self.brackets not in (None, "only"):
            readers.append((self.brackets, self.inside))
        for other, read in readers:
            points = [(place, *read(row, column)) for place, row, column in cells]
            points = [point for point in points if point[1] is not None]
            if len({place for place, *_ in points}) < max(len(points), 1):
                raise ValueError(f"{name!r} has no number, or several at one place: name columns "
                                 "of `label` that tell rows apart, or choose rows")
            yield Series(other or name, points, bool(other))


def _x_of_head(name):
    found = re.search(_NUMBER, name)
    if found is None:
        raise ValueError(f"no number in the head {name!r}, and no column of x")
    return _float(found[0])


def read(options, text):
    """Return the chart of a table of the text, by default of the first.

    Options: `values`, the columns that are drawn, and `label`, those that name a row (default: the
    first); `x`, the column of numbers along a line, or what the numbers in the heads of `values`
    are; `rows`, of entries "column = cell"; `brackets`, the name of what stands in brackets, or
    "only"; `axis`, `log` (of dots) and `mark`, a value that a line is drawn at; `table`, a number.
    "|" separates entries.

    Raises
    ------
    ValueError
        If a column is not there, or a cell cannot be read.
    """
    found, place = tables(text), int(options.get("table", 1))
    if place > len(found):
        raise ValueError(f"table {place}: the page has {len(found)} after the chart")
    heads, rows = found[place - 1]
    rows = _chosen(heads, rows, _listed(options["rows"]) if "rows" in options else [])
    x = options.get("x")
    named = [_column(heads, name) for name in _listed(options["label"])] \
        if "label" in options else [0] if heads[0] != x else []
    reader, labels, series = _Reader(heads, rows, options), [], []
    if x is None:
        rows = [row for row in rows if any(reader.point(row, name)[0] is not None
                                           for name in reader.names)]
        labels = [_label(heads, row, named) for row in rows]
        for name in reader.names:
            series += reader.series(name.rstrip(":"), [
                (place, row, name) for place, row in enumerate(rows)])
    elif x in heads:
        lines = {}
        for row, name in ((row, name) for name in reader.names for row in rows):
            label = [_label(heads, row, named)] if named else []
            line = ", ".join([*label, *([name] if len(reader.names) > 1 or not label else [])])
            lines.setdefault(line, []).append(
                (reader.number(row, heads.index(x)), row, name))
        for name, cells in lines.items():
            series += reader.series(name, cells)
    else:
        for row in rows:
            series += reader.series(_label(heads, row, named), [
                (_x_of_head(name), row, name) for name in reader.names])
    if len([each for each in series if not each.dashed]) > MOST:
        raise ValueError(f"more than {MOST} series: choose columns of values, or rows")
    mark = options.get("mark")
    return Chart(series, labels, x, options.get("axis", reader.names[0]), "log" in options,
                 mark and _float(mark))

"""Summary of a table: moments and quartiles of numbers, counts of declared categories."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.errors import quietly
from dpsk._data.tables import Table
from dpsk._mechanism.core import Composite, Share, Statistic, mu_of
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.certificate_fields import rounded_up
from dpsk._statistics.categories import count_noise, noisy_counts
from dpsk.metrics._estimate import Estimate
from dpsk.statistics._counts import cell_bound, counted
from dpsk.statistics._moments import Moments, summed_moments
from dpsk.statistics._plan import Within, entry_bound, within
from dpsk.statistics._points import CountedPoints, Points, counts_at_least
from dpsk.statistics._quantiles import from_points, rank_bound
from dpsk.statistics._reading import BY, Columns

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Description", "describe"]

#: Weights of a column in mu^2: for its range and moments, its quartiles, and its counts.
_WEIGHTS = 0.4, 0.4, 0.2
#: Quartiles are chosen from a learned range, extended on both sides by this times its width.
_BEYOND = 1.0
_QUARTILES = {"25%": 0.25, "50%": 0.5, "75%": 0.75}
#: Number of printed categories of a column, by largest counts.
_TOP, _SIGN, _ANY = 5, "\N{PLUS-MINUS SIGN}", "any"


@quietly
def describe(X: Any, epsilon: float = 1.0, *, delta: float | None = None,
             columns: dict[Any, Any] | None = None, groups: Any = None,
             random_state: Any = None, by: Any = None,
             categories: list[Any] | None = None) -> Description:
    """Summarize a table within one budget, each number with its error.

    Parameters
    ----------
    X : DataFrame, or array-like of shape (n, n_columns)
        Numbers, with NaN for missing values, and categories. Columns of an array hold numbers
        unless declared as categories.
    epsilon : float, default=1.0
        Total privacy budget; inf: no noise, not private.
    delta : float or None, default=None
        None: ``1 / n**2``.
    columns : dict or None, default=None
        Public descriptions by name or position: (low, high) bounds of numbers, or a list of
        categories. Other ranges are learned, and undeclared categories counted together.
    groups, random_state, by, categories : optional
        As for `dp_mean`. With `by`, estimates have an entry for each part of the rows.

    Returns
    -------
    description : Description
        A table in notebooks and in print.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.statistics import describe
    >>> X = np.column_stack([np.arange(5000) % 90, np.arange(5000) % 12])
    >>> found = describe(X, epsilon=8.0, columns={0: (0, 90), 1: (0, 12)})
    >>> bool(abs(found[0]["mean"] - 44.5) < 1.0), found.privacy_.epsilon
    (True, 8.0)
    """
    for name, own in columns.items() if isinstance(columns, dict) else ():
        if isinstance(own, tuple) and len(own) != 2:
            raise ValueError(f"columns: {name!r} has {own!r}; must be a tuple of two numbers, its "
                             "bounds, or a list of categories. dp_histogram has edges of bins.")
    options = {"epsilon": epsilon, "delta": delta, "groups": groups, "random_state": random_state,
               "by": by, "categories": categories}
    given = Columns.of("describe", X, options, *BY, only=None, columns=columns)
    coded = np.array([each.categories is not None for each in given.table.columns])
    numbers, words = _part(given, ~coded), _part(given, coded)
    kinds = {each.name: list(each.categories) or [_ANY] for each in words.table.columns}
    weights = np.array(_WEIGHTS) * [sum(~coded), sum(~coded), sum(coded)]
    shares = weights / weights.sum()
    sums, summands = within(numbers, summed_moments(numbers), shares[0], "bounds in columns")
    points = Points(numbers.names, tuple(_QUARTILES.values()), n_parts=given.n_parts)
    plan = _Look(sums, CountedPoints(points, tuple(numbers.whole.tolist()), True),
                 partial(noisy_counts, n_parts=given.n_parts), tuple(shares.tolist()))
    rows = words.rows
    for place, own in enumerate(kinds.values()):
        if own == [_ANY]:
            np.minimum(rows.X[:, place], 0.0, out=rows.X[:, place])
    cells = {place: len(own) for place, own in enumerate(kinds.values())}
    (moments, points, found), certificate = given.released(
        "description", plan, (numbers, summands, (rows, cells)), settings=plan.shares,
        enforced=[entry_bound(), rank_bound()] * any(~coded)
        + [cell_bound(len(cells))] * any(coded))
    told: dict[Any, Any] = {}
    shown: dict[Any, Any] = {}
    if moments is not None:
        told = _told(replace(moments, certificate=certificate), *points)
    if cells:
        noise = count_noise(len(cells), found[1])
        shown = {name: (counted(found[0][place], noise, given, certificate), own)
                 for place, (name, own) in enumerate(kinds.items())}
    return Description(given.budget.n_samples, told, shown, certificate,
                       given.parts and given.parts.names)


@dataclass(frozen=True)
class _Look(Composite):
    """Ranges and moments of numbers, their quartiles, and counts of categories."""

    sums: Within
    points: CountedPoints
    counted: Callable
    shares: tuple

    @property
    def parts(self):
        """tuple of Share : moments, quartiles, counts."""
        return tuple(Share(*each) for each in zip(
            (self.sums, self.points, Statistic(self.counted)), self.shares, strict=True))

    def run(self, data, session, noise_multiplier):
        """Return Moments, quartile intervals, and counts of categories with their mu."""
        (numbers, summands, words), (summed, chosen, counting) = data, self.parts
        moments = points = counts = None
        if summed.share:
            moments = Moments.of(numbers, *summed.run(summands, session, noise_multiplier))
            held = counts_at_least(moments.counts, moments.count_noise, numbers.budget.n_samples)
            # Points far outside of the range cannot be quartiles.
            near = moments.ends + np.diff(moments.ends) * (-_BEYOND, _BEYOND)
            near = np.where(np.isnan(numbers.edges()), near, numbers.edges())
            points = chosen.run((numbers.rows, near, held), session, noise_multiplier)
        if counting.share:
            counts = (counting.run(words, session, noise_multiplier),
                      mu_of(counting.own(noise_multiplier)))
        return moments, points, counts


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """Summary of a table: estimates by column, from one release.

    ``description[name]`` is a dict of statistics for a column of numbers, or a pair of counts and
    categories for other columns. It prints as a table.

    Attributes
    ----------
    n_samples : int
        Number of rows, or of groups of rows; public.
    numbers : dict of dict of Estimate
        By column: "count", "missing" (a share, without `by`), "mean", "std", "25%", "50%", "75%".
    categories : dict of (Estimate, list)
        By column: counts, and their categories.
    privacy_ : Certificate
        Certificate of the release.
    parts : list or None
        Categories of `by`, the first axis of all estimates.

    See Also
    --------
    describe : Summarizes a table.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the
    description is (epsilon, delta)-differentially private.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.statistics import describe
    >>> found = describe(np.arange(5000.0)[:, None] % 90, epsilon=8.0, columns={0: (0, 90)})
    >>> sorted(found[0])
    ['25%', '50%', '75%', 'count', 'mean', 'missing', 'std']
    """

    n_samples: int
    numbers: dict
    categories: dict
    privacy_: Certificate
    parts: list | None = None

    def __getitem__(self, name: Any) -> Any:
        return self.numbers[name] if name in self.numbers else self.categories[name]

    def __repr__(self) -> str:
        blocks = []
        for lines in self._tables():
            widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
            blocks.append("\n".join("  ".join(map(str.ljust, line, widths)).rstrip()
                                    for line in lines))
        return "\n\n".join([f"{self._title}, {_SIGN} standard error", *blocks, *self._notes])

    def _repr_html_(self) -> str:
        parts = [f"<p>{html.escape(self._title)}, {_SIGN} standard error</p>"]
        for head, *body in self._tables():
            rows = ["".join(f"<{kind} style='text-align:left'>{html.escape(cell)}</{kind}>"
                            for cell in cells)
                    for kind, cells in [("th", head), *(("td", line) for line in body)]]
            parts.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
        return "".join([*parts, *(f"<p>{html.escape(note)}</p>" for note in self._notes)])

    @property
    def _notes(self):
        """list of str : the notes of estimates, each once."""
        return list(dict.fromkeys(each.note for own in self.numbers.values()
                                  for each in own.values() if each.note))

    @property
    def _title(self):
        unit = "groups of rows" if "group" in self.privacy_.relation else "rows"
        return f"{self.n_samples} {unit} at epsilon {rounded_up(self.privacy_.epsilon, 6)}"

    def _tables(self):
        """Yield tables as lines of cells; the first line is the header."""
        head, parts = (["column"], [[]]) if self.parts is None else (
            ["column", "by"], [[str(part)] for part in self.parts])
        if self.numbers:
            heads = list(next(iter(self.numbers.values())))
            yield [[*head, *heads], *(
                [str(name), *part, *(_cell(own[head], place) for head in heads)]
                for name, own in self.numbers.items() for place, part in enumerate(parts))]
        if self.categories:
            lines = [[*head, "category", "count"]]
            for name, (counts, categories) in self.categories.items():
                for part, own in zip(parts, np.atleast_2d(counts.value), strict=True):
                    lines += [[str(name), *part, *cells] for cells in _counted(
                        own, categories, np.max(counts.standard_error))]
            yield lines


def _counted(counts, categories, error):
    """Return the largest counts of categories as lines of cells."""
    order = np.argsort(-counts, kind="stable")
    # A single remaining category is printed instead of "and 1 more".
    top = _TOP + (len(order) == _TOP + 1)
    more = [[f"and {len(order) - top} more", ""]] * (len(order) > top)
    return [[str(categories[place]), _cell((counts, error), place)]
            for place in order[:top]] + more


def _told(moments, *points):
    """Return the statistics of every column of numbers by name."""
    columns = moments.columns
    found = {"count": moments.count()}
    if columns.parts is None:
        found["missing"] = 1.0 - found["count"] / columns.budget.n_samples
    found |= {"mean": moments.mean(), "std": moments.std()}
    quartiles = from_points(columns, *points, moments.certificate)
    return {column.name: {
        **{name: _entry(own, (..., place), moments.ranges.hidden[place])
           for name, own in found.items()},
        **{name: _entry(quartiles, (..., row, place)) for row, name in enumerate(_QUARTILES)}}
        for place, column in enumerate(columns.table.columns)}


def _entry(estimate, place, noted=False):
    """Return some entries of an Estimate of several values, with its note if they need it."""
    def at(values):
        found = np.broadcast_to(values, np.shape(estimate.value))[place]
        return found if np.ndim(found) else float(found)

    value, error = at(estimate.value), at(estimate.standard_error)
    return Estimate(value, error, tuple(map(at, estimate.bounds)), estimate.privacy_,
                    estimate.errors and tuple(map(at, estimate.errors)),
                    estimate.note if noted or np.isnan(value).any() else None)


def _cell(estimate, place):
    value, error = (np.resize(each, place + 1)[place] for each in estimate)
    digits = ",.0f" if abs(value) >= 1000.0 else ".4g"
    return f"{value:{digits}} {_SIGN}{error:.2g}"


def _part(columns, chosen):
    """Return the chosen ones of the columns."""
    table, places = columns.table, np.flatnonzero(chosen)
    part = Table(table.values[:, places], [table.columns[place] for place in places],
                 [table.found[place] for place in places])
    return replace(columns, table=part, whole=columns.whole[places],
                   full=columns.full[places], single=False)

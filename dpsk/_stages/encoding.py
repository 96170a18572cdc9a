"""Columns of a table as blocks of features, by knots and categories that are released."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpsk._defaults.budgets import mu_of_share
from dpsk._defaults.tables import (
    CHOSEN_LEVELS,
    DISCLOSURE_SHARE,
    END_REACH,
    MOST_CATEGORIES,
    category_share,
    knot_levels,
    knot_share,
)
from dpsk._models.table_code import Hats, Indicators, TableCode
from dpsk._oracle.categories import category_event, category_threshold, frequent_categories
from dpsk._oracle.quantiles import noisy_knots
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Repeated
from dpsk._privacy.plans import Selections, WithoutNoise
from dpsk._stages.base import Stage

__all__ = ["CodePlan", "Encoding"]

#: Kinds of columns: of numbers, without and with public bounds, and of words.
_NUMBERS, _BOUNDED, _WORDS = "numbers", "bounded numbers", "words"


@dataclass(frozen=True)
class CodePlan:
    """The declaration of what a table's columns are told apart by, at a fixed price.

    Parameters
    ----------
    kinds : tuple
        Of every column: one of the three kinds; or a tuple of knots, or the number of categories,
        that are declared.
    levels : int
        How often a range of numbers is halved.
    most : int
        So many categories of a column are found at most.
    mu_knots, mu_words : float
        What all knots, and all categories that are found, may cost; infinite without noise.
    delta : float
        The chance to show a category that a single row brought.
    """

    kinds: tuple
    levels: int
    most: int
    mu_knots: float
    mu_words: float
    delta: float

    @classmethod
    def of(cls, budget, columns, n_knots=None, max_categories=None):
        """Return the plan of some `Column`, from public facts.

        Parameters
        ----------
        budget : Budget
        columns : list of Column
        n_knots : int or None
            2, 3, 5, 9 and so on; None: by a rule.
        max_categories : int or None
        """
        kinds = tuple(map(_kind, columns))
        n_numeric, n_words = sum(map(_is_numeric, kinds)), kinds.count(_WORDS)
        levels = round(math.log2(n_knots - 1)) if n_knots else (
            knot_levels(budget, n_numeric) if n_numeric else 0)
        choices = sum(_choices(kind, levels) for kind in kinds)
        mu_knots = mu_words = delta = 0.0
        if choices:
            mu_knots = mu_of_share(budget, knot_share(budget, choices, n_numeric, len(kinds)))
        most = max_categories or MOST_CATEGORIES
        if n_words:
            mu_words = mu_of_share(budget, category_share(budget, n_words))
            delta = DISCLOSURE_SHARE * budget.delta
            if budget.is_private:
                threshold = category_threshold(n_words, mu_words, delta)
                # More than that cannot all be beyond it.
                most = max(1, min(most, math.floor(budget.n_samples / threshold)))
        return cls(kinds, levels, most, mu_knots, mu_words, delta)

    @property
    def event(self):
        """Event : what all of it costs."""
        events = []
        if self._n_choices:
            declared, noise_multiplier = self._choice()
            events.append(Repeated(declared(noise_multiplier), self._n_choices))
        if _WORDS in self.kinds:
            events.append(category_event(self.mu_words, self.delta))
        return Composed(tuple(events))

    @property
    def width(self):
        """int : the number of features, public; not all of them need be used."""
        return sum(map(self._width, self.kinds))

    def run(self, table, rows, releases):
        """Return the `TableCode` of rows of a `Table`, and its columns as they are now known."""
        knots = {place: self._knots(place, table.columns[place], rows, releases)
                 for place, kind in enumerate(self.kinds) if _is_numeric(kind)}
        places = [place for place, kind in enumerate(self.kinds) if kind == _WORDS]
        found = {}
        if places:
            sizes = [len(table.found[place]) for place in places]
            found = dict(zip(places, frequent_categories(
                rows, places, sizes, self.most, self.mu_words, self.delta, releases),
                strict=True))
        columns = table.known(found)
        parts = tuple(Hats(knots[place]) if place in knots else
                      Indicators(column.categories, found.get(place))
                      for place, column in enumerate(columns))
        return TableCode(parts, self.width), columns

    def _knots(self, place, column, rows, releases):
        """Return the knots of a column of numbers."""
        kind = self.kinds[place]
        if isinstance(kind, tuple):
            return np.array(kind)
        bounds = column.edges if kind == _BOUNDED else None
        points = noisy_knots(rows, partial(_column, place), _choices(kind, self.levels), bounds,
                             *self._choice(), releases) if _choices(kind, self.levels) else []
        inner = np.concatenate([np.zeros(0), *points[:self.levels]])
        ends = bounds if bounds is not None else _ends(points)
        return np.unique(np.concatenate([inner, ends]))

    @property
    def _n_choices(self):
        return sum(_choices(kind, self.levels) for kind in self.kinds)

    def _choice(self):
        """Return the declaration of one choice, and its noise multiplier."""
        if self.mu_knots == math.inf:
            return WithoutNoise(), 0.0
        return Selections(1, pure=False), 4.0 / bounded_range_epsilon(
            self.mu_knots / math.sqrt(self._n_choices))

    def _width(self, kind):
        if kind in (_NUMBERS, _BOUNDED):
            return 2 ** self.levels + 1
        if kind == _WORDS:
            return self.most + 1
        return len(kind) if isinstance(kind, tuple) else kind + 1


class Encoding(Stage):
    """Release knots and categories of a table, and map its rows to their features.

    Parameters
    ----------
    table : Table
    plan : CodePlan
    """

    without_noise = True

    def __init__(self, table, plan):
        self._table, self._plan = table, plan
        self.code = self.columns = None

    def event(self, problem):
        return self._plan.event

    def release(self, problem, rows, releases):
        """Return the problem, and the rows as features."""
        code, self.columns = self._plan.run(self._table, rows, releases)
        self.code = code.for_next_rows()
        return problem, rows.mapped(code)


def _kind(column):
    if column.categories is None:
        if column.edges is None:
            return _NUMBERS
        return _BOUNDED if len(column.edges) == 2 else column.edges
    return len(column.categories) or _WORDS


def _is_numeric(kind):
    return kind in (_NUMBERS, _BOUNDED) or isinstance(kind, tuple)


def _choices(kind, levels):
    """Return how many choices a column of that kind takes."""
    if kind == _NUMBERS:
        # Ends follow from the outer medians.
        return max(levels, CHOSEN_LEVELS[0])
    return levels if kind == _BOUNDED else 0


def _ends(points):
    """Return ends beyond the outer ones of medians of several levels."""
    (root,), every = points[0], np.concatenate(points)
    low, high = every.min(), every.max()
    return low - END_REACH * (root - low), high + END_REACH * (high - root)


def _column(place, rows, part):
    return rows.take(part).X[:, place]

"""Encoding of table columns as blocks of features, by released knots and categories."""

import math
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from dpsk._data.columns import check_columns
from dpsk._data.tables import Buckets
from dpsk._defaults.columns import (
    ATOM_ROWS,
    ATOMS,
    BUCKETS,
    CHOSEN_LEVELS,
    CLASS_SHARE,
    COUNT_SHARE,
    DISCLOSURE_SHARE,
    END_REACH,
    MOST_CATEGORIES,
    OCCUPIED,
    REMAINDER,
    SPREAD_MIDDLE,
    category_share,
    class_log_odds,
    class_scarcity,
    hashing_pays,
    knot_levels,
    knot_share,
    knot_signal,
    range_points,
    skew_error,
    spreads_pay,
)
from dpsk._mechanism.core import Choices, Composite, Share, Statistic, mu_of
from dpsk._models.table_code import Indicators, LinearSplineBasis, TableCode
from dpsk._parameters import (
    GAUSSIAN_DELTA,
    PARAMETER_CONSTRAINTS,
    check_flag,
    check_integer,
    optional,
)
from dpsk._privacy.accountant import mu_beside
from dpsk._statistics.categories import FrequentCategories, count_noise, noisy_counts
from dpsk._statistics.cells import noisy_decimal, noisy_knots, rank_noise
from dpsk._statistics.moments import noisy_counts as noisy_group_counts
from dpsk.preprocessing._points import (
    about_median,
    atoms_of,
    edges_of,
    ends_beyond,
    evened,
    without_far,
)
from dpsk.preprocessing._statistics_plan import noisy_spread

__all__ = ["TABLE_CONSTRAINTS", "CodePlan", "check_missing_indicator", "indicated"]

#: Kinds of columns: numbers without and with public bounds, numbers with too few rows for knots,
#: categories, and hashed categories.
_NUMBERS, _BOUNDED, _RANGES = "numbers", "bounded numbers", "ranges"
_WORDS, _BUCKETS = "words", "buckets"


def _check_knots(name, value):
    """Raise a ValueError unless `value` is "auto", or a number of knots ``2**k + 1``."""
    if isinstance(value, str) and value == "auto":
        return
    allowed = [2**levels + 1 for levels in range(9)]
    remedy = "'auto', or one of 2, 3, 5, 9, 17, 33, 65, 129 and 257, as intervals are halved"
    if check_integer(name, value, low=2, high=allowed[-1], remedy=remedy) not in allowed:
        raise ValueError(f"{name}={value!r}: must be {remedy}.")


def check_missing_indicator(name, value):
    """Raise a ValueError unless `value` is a bool or a list of columns."""
    if not isinstance(value, list):
        check_flag(name, value, "a list of columns, ")


#: Constraints on the parameters of estimators that take tables.
TABLE_CONSTRAINTS = {
    **PARAMETER_CONSTRAINTS,
    "delta": GAUSSIAN_DELTA,
    "columns": check_columns,
    "n_knots": _check_knots,
    "max_categories": optional(lambda name, value: check_integer(
        name, value, low=1, high=10**6, remedy="None, or an int >= 1"))}


@dataclass(frozen=True)
class CodePlan(Composite):
    """Knots and categories of a table's columns, and counts of their ranges, buckets and classes.

    Parameters
    ----------
    kinds : tuple
        For every column its kind, its tuple of declared knots, or its number of declared
        categories.
    levels : int
        How often the range of a numeric column is halved.
    most : int
        Largest number of categories that are found per column.
    buckets : int
        Number of buckets into which other categories are hashed, if these are not few; 0: none.
    share_knots, share_words, share_counts : float
        Fractions of mu^2 for all knots, for all found categories, and for counts of ranges and
        buckets that hold rows; 0 for what is not released.
    share_classes : float
        Fraction for the counts of two classes, because fewer knots are used if one class is rare;
        0 if they are not counted. The four sum to 1.
    delta : float
        Probability of showing a category that only one row has.
    atoms : bool
        Whether numeric columns are tested for a few whole numbers that hold all rows.
    spares : bool
        Whether buckets that seem empty are left out.
    indicated : tuple of int
        Indices of numeric columns with an indicator of missing values.
    signal : float
        Signal-to-noise ratio that determines the number of knots.
    evens : bool
        Whether skewed numeric columns are put on a shifted logarithmic scale.
    has_spreads : bool
        Whether numeric columns without bounds have ends by a spread about a median.
    """

    kinds: tuple
    levels: int
    most: int
    buckets: int
    share_knots: float
    share_words: float
    share_counts: float
    share_classes: float
    delta: float
    atoms: bool = False
    spares: bool = True
    indicated: tuple = ()
    signal: float = math.inf
    evens: bool = False
    has_spreads: bool = False

    @classmethod
    def of(cls, budget, columns, n_knots=None, max_categories=None, spares=True,
           missing_indicator=False, n_classes=1, evens=False):
        """Return the plan of columns, with its share of mu^2, from public facts.

        Parameters
        ----------
        budget : Budget
            Budget of everything that is fitted to the table.
        columns : list of Column
        n_knots : int or None
            2, 3, 5, 9 and so on; None: the default.
        max_categories : int or None
        spares : bool
        missing_indicator : bool or list
            Names of columns of numbers; True: all of them.
        n_classes : int
            Number of classes, whose indices are the targets of rows; 1: no classes.
        evens : bool

        Returns
        -------
        plan : Share
            Its share is 0 if nothing is released.
        """
        kinds = tuple(map(_kind, columns))
        if not spares:
            kinds = tuple(len(column.categories) if kind == _BUCKETS else kind
                          for kind, column in zip(kinds, columns, strict=True))
        n_numeric, n_words = sum(map(_is_numeric, kinds)), kinds.count(_WORDS)
        signal = knot_signal(budget, n_numeric)
        levels = round(math.log2(n_knots - 1)) if n_knots else (
            knot_levels(signal, max(1.0, n_classes / 2.0)))
        if not (n_knots or levels):
            kinds = tuple(_RANGES if kind == _NUMBERS else kind for kind in kinds)
        choices = sum(_n_levels(kind, levels) for kind in kinds)
        share_knots = share_words = delta = 0.0
        if choices:
            share_knots = knot_share(budget, choices, n_numeric, len(kinds))
        has_spreads = levels == 1 and not n_knots and spreads_pay(
            budget, kinds.count(_NUMBERS), choices, share_knots)
        if n_words:
            share_words = category_share(budget, n_words)
            delta = DISCLOSURE_SHARE * budget.delta
        mu = _mu_beside(budget, delta)
        atoms = _NUMBERS in kinds and budget.n_samples > ATOM_ROWS * count_noise(
            kinds.count(_NUMBERS) + kinds.count(_BUCKETS), math.sqrt(COUNT_SHARE) * mu)
        counted = _RANGES in kinds or _BUCKETS in kinds or atoms
        rare = n_classes == 2 and not n_knots and levels > 1
        shares = (share_knots, share_words, COUNT_SHARE if counted else 0.0,
                  CLASS_SHARE if rare else 0.0)
        whole = sum(shares)
        plan = cls(kinds, levels, max_categories or MOST_CATEGORIES,
                   0 if max_categories else BUCKETS,
                   *(share / (whole or 1.0) for share in shares), delta, atoms, spares,
                   indicated(columns, missing_indicator), signal, evens, has_spreads)
        return Share(plan, whole)

    @classmethod
    def for_table(cls, budget, table, n_knots=None, max_categories=None, spares=True,
                  n_buckets=None, missing_indicator=False, n_classes=1, evens=False):
        """Return a table and its plan; categories are hashed if noise would hide most.

        Public facts decide that. Categories are always hashed with `n_buckets`, else never with
        `max_categories`. Other parameters are those of `of`.
        """
        n_words = sum(_kind(column) == _WORDS for column in table.columns)
        if n_buckets is not None:
            # The user asked for this number of buckets, and they cost nothing.
            spares = False
        elif n_words and max_categories is None and hashing_pays(budget, n_words):
            n_buckets = BUCKETS
        if n_buckets is not None:
            table = table.hashed(n_buckets)
        return table, cls.of(budget, table.columns, n_knots, max_categories, spares,
                             missing_indicator, n_classes, evens)

    @property
    def parts(self):
        """tuple of Share : knots, categories, counts of ranges and buckets, and of classes."""
        return (Share(Choices(_points, sum(self._levels)), self.share_knots),
                Share(FrequentCategories(self.most, self.delta), self.share_words),
                Share(Statistic(noisy_counts), self.share_counts),
                Share(Statistic(noisy_group_counts), self.share_classes))

    def run(self, data, session, noise_multiplier):
        """Return the `TableCode` of a table, and its columns with what was found."""
        (table, rows), given = data, (session, noise_multiplier)
        knots, words, cells, classes = self.parts
        levels, log_odds, points, error = self.levels, 0.0, {}, math.inf
        if classes.share:
            counts, noise = classes.run((rows, 2), *given), classes.own(noise_multiplier)
            log_odds = class_log_odds(counts, noise)
            levels = knot_levels(self.signal, class_scarcity(log_odds))
        if knots.share:
            points, noise = knots.run((table, rows, self._levels, self.has_spreads), *given)
            error = skew_error(len(rows), noise) if self.evens else math.inf
        bases = {place: self._basis(place, table.columns[place], levels, points.get(place), error)
                 for place, kind in enumerate(self.kinds)
                 if kind != _RANGES and _is_numeric(kind)}
        found, buckets = self._frequent(table, rows, words, *given)
        occupied = self._occupied(rows, cells, *given)
        bases |= {place: LinearSplineBasis(
                     ATOMS[cells] if self.kinds[place] == _NUMBERS else edges_of(cells))
                 for place, cells in occupied.items() if _is_numeric(self.kinds[place])}
        found |= {place: cells for place, cells in occupied.items() if place not in bases}
        columns = table.known(found, buckets)
        parts = tuple(replace(bases[place], has_indicator=place in self.indicated)
                      if place in bases else
                      _indicators(column.categories, table.found[place], found.get(place))
                      for place, column in enumerate(columns))
        return TableCode(parts, log_odds=log_odds), columns

    def _frequent(self, table, rows, words, session, noise_multiplier):
        """Return found categories, and numbers of buckets for the others, by column."""
        places = [place for place, kind in enumerate(self.kinds) if kind == _WORDS]
        if not places:
            return {}, {}
        sizes = [len(table.found[place]) for place in places]
        found = dict(zip(places, words.run((rows, places, sizes), session, noise_multiplier),
                         strict=True))
        noise = count_noise(len(places), mu_of(words.own(noise_multiplier)))
        # Whether the remaining rows stand out from the noise on their count.
        stands_out = {place: len(rows) - counts.sum() > REMAINDER * noise * math.sqrt(
            max(1, len(kept))) for place, (kept, counts) in found.items()}
        buckets = {place: self.buckets for place in places if self.buckets
                   and (stands_out[place] or not self.spares)}
        return {place: kept for place, (kept, _) in found.items()}, buckets

    def _occupied(self, rows, cells, session, noise_multiplier):
        """Return ranges and buckets whose counts stand out from the noise, by column.

        For numeric columns that hold nothing but atoms, return the atoms.
        """
        if not self._counted:
            return {}
        counts = cells.run((rows, self._counted), session, noise_multiplier)
        noise = count_noise(len(counts), mu_of(cells.own(noise_multiplier)))
        found = {place: atoms_of(each, len(rows), noise) if self.kinds[place] == _NUMBERS else
                 np.flatnonzero(each > min(each.max() - noise,
                                           OCCUPIED[self.kinds[place]] * noise))
                 for place, each in counts.items()}
        return {place: cells for place, cells in found.items() if cells is not None}

    def _basis(self, place, column, levels, points, error):
        """Return the linear B-spline basis of a numeric column, from levels of medians."""
        kind = self.kinds[place]
        if isinstance(kind, tuple):
            return LinearSplineBasis(np.array(kind))
        bounds = column.edges if kind == _BOUNDED else None
        if points is None:
            return LinearSplineBasis(np.unique(bounds))
        if bounds is None and self.has_spreads:
            return about_median(*points, self.signal >= SPREAD_MIDDLE)
        points = points if bounds is not None else without_far(points)
        inner, reach = np.concatenate([np.zeros(0), *points[:levels]]), END_REACH[levels > 1]
        ends = bounds if bounds is not None else ends_beyond(points, reach)
        return evened(points, inner, bounds, reach, error) or LinearSplineBasis(
            np.unique(np.concatenate([inner, ends])))

    @property
    def _levels(self):
        """list of int : number of levels of medians of every column."""
        return [_n_levels(kind, self.levels) for kind in self.kinds]

    @property
    def _counted(self):
        """dict : public cells of the columns whose ranges or buckets are counted."""
        cells = {_RANGES: range_points(), _BUCKETS: BUCKETS}
        if self.atoms:
            # Every second cell holds exactly one number.
            cells[_NUMBERS] = np.column_stack([ATOMS, np.nextafter(ATOMS, np.inf)]).ravel()
        return {place: cells[kind] for place, kind in enumerate(self.kinds)
                if isinstance(kind, str) and kind in cells}


def _points(table, rows, levels, has_spreads, price, session):
    """Return the noisy medians of every level by column, and the noise on a rank.

    With `has_spreads`, columns without bounds have a noisy median and spread.
    """
    points = {}
    for place, count in enumerate(levels):
        column, given = table.columns[place], (rows, partial(_column, place))
        if count and has_spreads and column.edges is None:
            median = noisy_decimal(*given, 0.5, price, session)
            points[place] = median, noisy_spread(column, rows, place, median, 0.5, price, session)
        elif count:
            points[place] = noisy_knots(*given, count, column.edges, price, session)
    return points, rank_noise(price)


def _kind(column):
    if column.categories is None:
        if column.edges is None:
            return _NUMBERS
        return _BOUNDED if len(column.edges) == 2 else column.edges
    if isinstance(column.categories, Buckets):
        return _BUCKETS
    return len(column.categories) or _WORDS


def indicated(columns, wanted):
    """Return the indices of numeric columns with an indicator; refuse other columns."""
    numeric = {column.name: place for place, column in enumerate(columns)
               if _is_numeric(_kind(column))}
    names = wanted if isinstance(wanted, list) else numeric if wanted else ()
    for name in names:
        if name not in numeric:
            raise ValueError(f"missing_indicator has {name!r}, which is no column of numbers; "
                             "name some that are, as what is missing in others counts as any "
                             "other word.")
    return tuple(numeric[name] for name in names)


def _mu_beside(budget, chance):
    """Return the mu of a budget less a probability of showing a row, rounded down."""
    return mu_beside(budget.epsilon, budget.delta, chance) * (1.0 - 2e-9)


def _is_numeric(kind):
    return kind in (_NUMBERS, _BOUNDED, _RANGES) or isinstance(kind, tuple)


def _n_levels(kind, levels):
    """Return the number of levels of medians for a kind of column."""
    if kind == _NUMBERS:
        # Ends are computed from the outer medians.
        return max(levels, CHOSEN_LEVELS[0])
    return levels if kind == _BOUNDED else 0


def _indicators(categories, occurring, kept):
    """Return the indicators of categories, of which those at positions `kept` are kept."""
    if not isinstance(categories, Buckets):
        return Indicators(list(categories), kept)
    buckets = len(categories) - len(categories.named)
    if occurring is None:
        return Indicators(list(categories), kept, buckets=buckets)
    # Computed for features of training rows only.
    others = cache(lambda: np.array(categories.places(occurring), dtype=np.intp))
    return Indicators(list(categories), kept, others, buckets)


def _column(place, rows, part):
    return rows.take(part).X[:, place]

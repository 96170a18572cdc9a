"""Quantiles, spreads and moments of columns of numbers, as mechanisms."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from dpsk._data.groups import units_of
from dpsk._data.targets import middle_of
from dpsk._defaults.budgets import TARGET_REACH
from dpsk._mechanism.core import Choices, Composite, Mechanism, Share, Statistic, mu_of
from dpsk._statistics.cells import noisy_decimal, rank_noise
from dpsk._statistics.column_sums import moment_noise, noisy_column_sums
from dpsk._statistics.ends import column_away
from dpsk._statistics.quantiles import bounded_grid, noisy_quantile, positive_grid
from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

__all__ = ["Ends", "Moments", "Quantiles", "Spreads", "noisy_spread"]

#: Least variance of numbers in [-1, 1] without noise, because sums are rounded.
_LEAST_VARIANCE = 1e-12
#: Smallest positive spread, relative to the width of declared bounds.
_LEAST_SPREAD = 2.0**-24
#: Least half width of a range, absolute and relative to its center, because doubles are finite.
_LEAST_WIDTH, _LEAST_SHARE = 1e-9, 1e-8


class _RankChoices(Mechanism):
    """Base of mechanisms that choose quantiles of table columns.

    Subclasses define `count`, the number of choices; `tail`, the fraction of rows beyond the
    outermost quantile; and `_chosen`, which makes all choices, given the event of one.
    """

    #: Below this exponent, points beyond all rows are likely choices, because they are many.
    least_exponent = 10.0
    #: Remedy in the warning about too few rows.
    parameter = "bounds in columns"

    def event(self, noise_multiplier):
        """Return the event of all choices."""
        return self._choices.event(noise_multiplier)

    def run(self, data, session, noise_multiplier):
        """Return the quantiles of a table, NaN where none is chosen."""
        if not self.count:
            return self._chosen(*data, None, session)
        return self._choices.run(data, session, noise_multiplier)

    def each(self, noise_multiplier):
        """Return the event of one choice."""
        return self._choices.each(noise_multiplier)

    @property
    def _choices(self):
        return Choices(self._chosen, self.count)

    def forewarn(self, rows, noise_multiplier):
        """Warn if noise is likely to choose points beyond all rows."""
        if not (self.count and noise_multiplier):
            return
        times = self.shortage(rows, self.each(noise_multiplier))
        if times > 1.0:
            warn(
                f"n={rows.n_units} {units_of(rows.groups)} are too few for {self.count} "
                f"quantiles within the budget, which take {times:.3g} "
                "times as many: the quantiles may lie far from all rows; declare "
                f"{self.parameter}, or raise epsilon.", PrivacyWarning, stacklevel=2)

    def shortage(self, rows, price):
        """Return how many times as many rows quantiles need, at the price of one choice."""
        return self.least_exponent * rank_noise(price) / (rows.n_units * self.tail)


@dataclass(frozen=True)
class Quantiles(_RankChoices):
    """The same quantiles of some columns of a table.

    Parameters
    ----------
    columns : tuple of bool
        Columns of which quantiles are chosen.
    levels : tuple of float
        Levels of the quantiles, in [0, 1]. A number between two points counts as the one farther
        from the median, so that quantiles enclose the numbers.
    """

    columns: tuple
    levels: tuple

    @property
    def count(self):
        """int : how many choices are made."""
        return sum(self.columns) * len(self.levels)

    @property
    def tail(self):
        """float : the share of rows beyond the outermost quantile."""
        return min(min(level, 1.0 - level) for level in self.levels)

    def _chosen(self, table, rows, price, session):
        """Return the quantiles, shape (n_columns, n_levels), not decreasing."""
        found = np.full((len(self.columns), len(self.levels)), np.nan)
        for place in np.flatnonzero(self.columns):
            found[place] = [_quantile(table, rows, place, level, price, session)
                            for level in self.levels]
        return np.sort(found, axis=1)


@dataclass(frozen=True)
class Ends(Composite):
    """Ends of some columns of a table: quantiles of distances from whole numbers near medians.

    Most decimals below a column far from 0 lie between it and 0. Half of the rows outweigh these,
    but the rows beyond an end may not. So ends are at decimal distances from a released median,
    rounded to a whole number, as then whole numbers stay decimals of few digits.

    Parameters
    ----------
    columns : tuple of bool
        Columns of which ends are chosen.
    tail : float
        Share of rows beyond each end.
    share_medians : float
        Fraction of mu^2 for the medians; 0: none, and ends are decimals.
    """

    columns: tuple
    tail: float
    share_medians: float

    @property
    def parts(self):
        """tuple of Share : medians and ends, each at the same price for every choice."""
        return (Share(Quantiles(self.columns, (0.5,)), self.share_medians),
                Share(Quantiles(self.columns, (self.tail, 1.0 - self.tail)),
                      1.0 - self.share_medians))

    def run(self, data, session, noise_multiplier):
        """Return the ends, shape (n_columns, 2), not decreasing; NaN where none are chosen."""
        medians, ends = self.parts
        if not medians.share:
            return ends.run(data, session, noise_multiplier)
        event, median = (part.mechanism.each(part.own(noise_multiplier))
                         for part in (ends, medians))
        found, (table, rows) = np.full((len(self.columns), 2), np.nan), data
        for place in np.flatnonzero(self.columns):
            middle = float(np.rint(_quantile(table, rows, place, 0.5, median, session)))
            away = partial(column_away, place, middle)
            found[place] = [middle + noisy_decimal(rows, away, level, event, session, level > 0.5,
                                                   weighted=True)
                            for level in ends.mechanism.levels]
        return np.sort(found, axis=1)


@dataclass(frozen=True)
class Spreads(_RankChoices):
    """Medians of columns of a table, and quantiles of the distances from them.

    Parameters
    ----------
    columns : tuple of bool
        Columns of which medians are chosen.
    level : float or None
        Level of the quantile of distances, in [1/2, 1); None: no distances are chosen.
    """

    columns: tuple
    level: float | None

    @property
    def count(self):
        """int : how many choices are made."""
        return sum(self.columns) * (1 if self.level is None else 2)

    @property
    def tail(self):
        """float : the share of rows beyond the outermost quantile."""
        return 0.5 if self.level is None else 1.0 - self.level

    def _chosen(self, table, rows, price, session):
        """Return medians and distances, each of shape (n_columns,)."""
        centers, spreads = np.full((2, len(self.columns)), np.nan)
        for place in np.flatnonzero(self.columns):
            centers[place] = _quantile(table, rows, place, 0.5, price, session)
            if self.level is not None:
                spreads[place] = noisy_spread(table.columns[place], rows, place, centers[place],
                                              self.level, price, session)
        return centers, spreads


@dataclass(frozen=True)
class Moments(Composite):
    """Ranges of columns of a table, and then counts, sums and sums of squares within them.

    Parameters
    ----------
    ranges : Spreads
        Spreads of the columns without public bounds. Ranges are centered on the medians, and
        distances are extended to where a normal distribution has a thousandth of its mass.
    share_ranges : float
        Fraction of mu^2 for the ranges; sums take the rest.
    """

    ranges: Spreads
    share_ranges: float

    @property
    def parts(self):
        """tuple of Share : ranges and sums."""
        return (Share(self.ranges, self.share_ranges),
                Share(Statistic(noisy_column_sums), 1.0 - self.share_ranges))

    def run(self, data, session, noise_multiplier):
        """Return means, standard deviations and ranges, the last of shape (n_columns, 2).

        All are post-processing. On numbers scaled from their range to [-1, 1], a variance is at
        least twice the standard deviation of its noise, and at most 1.
        """
        (table, rows), (spreads, summed) = data, self.parts
        ranges = self._ranges(table, *spreads.run(data, session, noise_multiplier))
        low, high = ranges.T
        counts, sums, squares = summed.run((rows, low, high), session, noise_multiplier)
        counts = np.clip(counts, 1.0, rows.n_units)
        means = np.clip(sums / counts, -1.0, 1.0)
        noise = math.sqrt(0.5) * moment_noise(len(low), mu_of(summed.own(noise_multiplier)))
        least = np.minimum(np.maximum(2.0 * noise / counts, _LEAST_VARIANCE), 1.0)
        variances = np.clip(squares / counts - means**2, least, 1.0)
        middle, half = middle_of(low, high)
        return middle + half * means, half * np.sqrt(variances), ranges

    def _ranges(self, table, centers, spreads):
        """Return the ranges of columns, declared or learnt, shape (n_columns, 2)."""
        reach = float(ndtri(TARGET_REACH) / ndtri(0.5 * (1.0 - self.ranges.level)))
        # A column with spread 0 under noise is treated as one of 0 and 1.
        half = np.where(spreads == 0.0, 1.0, max(1.0, reach) * spreads)
        half = np.maximum(half, np.maximum(_LEAST_SHARE * np.abs(centers), _LEAST_WIDTH))
        ranges = np.column_stack([centers - half, centers + half])
        for place, column in enumerate(table.columns):
            if column.edges is not None:
                ranges[place] = column.edges
        return ranges


def noisy_spread(column, rows, place, center, level, event, session):
    """Return the noisy quantile of the distances of a column's numbers from a released point."""
    return noisy_quantile(rows, partial(_distances, place, column.edges, center), level,
                          _spread_grid(column), event, session)


def _quantile(table, rows, place, level, event, session):
    """Return the noisy quantile of a column, rounded away from the median."""
    edges, upward = table.columns[place].edges, level >= 0.5
    given = event, session, upward
    if edges is None:
        return noisy_decimal(rows, partial(_column, place), level, *given, weighted=True)
    return noisy_quantile(rows, partial(_column, place), level, bounded_grid(*edges), *given)


def _spread_grid(column):
    """Return public distances: 0, and points that double every 64, within any bounds."""
    points = positive_grid()
    if column.edges is not None:
        width = column.edges[1] - column.edges[0]
        points = width * np.minimum(points[points >= _LEAST_SPREAD], 1.0)
    return np.unique(np.append(0.0, points))


def _column(place, rows, part):
    return rows.take(part).X[:, place]


def _distances(place, edges, center, rows, part):
    """Return the distances of numbers from a released point, within declared bounds."""
    numbers = _column(place, rows, part)
    return np.abs((numbers if edges is None else np.clip(numbers, *edges)) - center)

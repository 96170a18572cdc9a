"""Quantiles, spreads and moments of columns of numbers, at a fixed price."""

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from dpsk._defaults.budgets import TARGET_REACH
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Repeated, gaussian
from dpsk._statistics.cells import noisy_decimal
from dpsk._statistics.column_sums import moment_noise, noisy_column_sums
from dpsk._statistics.quantiles import bounded_grid, noisy_quantile, positive_grid
from dpsk.exceptions import PrivacyWarning

__all__ = ["MomentPlan", "QuantilePlan", "SpreadPlan"]

#: Below this exponent points beyond all rows are no longer unlikely: there are many of them.
_LEAST_EXPONENT = 10.0
#: The least variance of numbers in [-1, 1] without noise: sums are rounded.
_LEAST_VARIANCE = 1e-12
#: Spreads over the width of declared bounds end here.
_LEAST_SPREAD = 2.0**-24
#: Half a range is so many times the absolute value of its middle at least, as doubles are finite.
_LEAST_WIDTH, _LEAST_SHARE = 1e-9, 1e-8


class _Choices:
    """Base of plans that are some choices of one price.

    Subclasses have `count`, how many there are; `share`, of mu^2; `mu`, of which that is a share,
    infinite without noise; and `tail`, the share of rows beyond a quantile.
    """

    @property
    def event(self):
        """Event : what all of them cost."""
        if not self.count:
            return Composed(())
        return Repeated(self._choice(), self.count)

    def alone(self, mu):
        """Return this plan at all of a mu."""
        return replace(self, mu=mu, share=1.0)

    def _choice(self):
        """Return what one choice costs."""
        return gaussian(math.sqrt(self.share / self.count) * self.mu)

    def _warn_of_few_rows(self, n_samples):
        """Warn where noise may well choose points beyond all rows; by public facts."""
        if not self.count or self.mu == math.inf:
            return
        width = bounded_range_epsilon(math.sqrt(self.share / self.count) * self.mu)
        exponent = 0.5 * width * n_samples * self.tail
        if exponent < _LEAST_EXPONENT:
            warnings.warn(
                f"n={n_samples} rows are too few for {self.count} quantiles within the budget, "
                f"which take {_LEAST_EXPONENT / exponent:.2g} times as many: they may lie far "
                "from all rows; declare bounds in columns, or raise epsilon.", PrivacyWarning,
                stacklevel=2)


@dataclass(frozen=True)
class QuantilePlan(_Choices):
    """The declaration of the same quantiles of some columns.

    Parameters
    ----------
    columns : tuple of bool
        Of which columns they are chosen.
    levels : tuple of float
        Of the quantiles, in [0, 1]. Numbers between points count as the one farther from the
        median, so that quantiles cover the numbers that they stand for.
    share : float
        The share of mu^2 of all of them.
    mu : float
        The mu of which this is a share; infinite without noise.
    """

    columns: tuple
    levels: tuple
    share: float
    mu: float

    @property
    def count(self):
        """int : how many choices are made."""
        return sum(self.columns) * len(self.levels)

    @property
    def tail(self):
        """float : the share of rows beyond the outermost quantile."""
        return min(min(level, 1.0 - level) for level in self.levels)

    def run(self, table, rows, session):
        """Return the quantiles, shape (n_columns, n_levels), not decreasing; NaN of no choice."""
        self._warn_of_few_rows(len(rows))
        found = np.full((len(self.columns), len(self.levels)), np.nan)
        for place in np.flatnonzero(self.columns):
            found[place] = [_quantile(table, rows, place, level, self._choice(), session)
                            for level in self.levels]
        return np.sort(found, axis=1)


@dataclass(frozen=True)
class SpreadPlan(_Choices):
    """The declaration of medians of columns, and of quantiles of the distances from them.

    Parameters
    ----------
    columns : tuple of bool
        Of which columns they are chosen.
    level : float or None
        Of the quantile of distances, in [1/2, 1); None: none is chosen.
    share, mu : float
        As of a `QuantilePlan`.
    """

    columns: tuple
    level: float | None
    share: float
    mu: float

    @property
    def count(self):
        """int : how many choices are made."""
        return sum(self.columns) * (1 if self.level is None else 2)

    @property
    def tail(self):
        """float : the share of rows beyond the outermost quantile."""
        return 0.5 if self.level is None else 1.0 - self.level

    def run(self, table, rows, session):
        """Return medians and distances, each of shape (n_columns,); NaN of no choice."""
        self._warn_of_few_rows(len(rows))
        centers, spreads = np.full((2, len(self.columns)), np.nan)
        for place in np.flatnonzero(self.columns):
            column = table.columns[place]
            centers[place] = _quantile(table, rows, place, 0.5, self._choice(), session)
            if self.level is not None:
                spreads[place] = noisy_quantile(
                    rows, partial(_distances, place, column.edges, centers[place]), self.level,
                    _spread_grid(column), self._choice(), session)
        return centers, spreads


@dataclass(frozen=True)
class MomentPlan:
    """The declaration of ranges of columns, and then of counts, sums and sums of squares.

    Parameters
    ----------
    ranges : SpreadPlan
        Of the columns without public bounds. Ranges lie about the medians, and distances are
        moved out to where a normal law has a thousandth of its rows.
    share_sums : float
        The share of mu^2 of all sums.
    mu : float
        The mu of which these are shares; infinite without noise.
    """

    ranges: SpreadPlan
    share_sums: float
    mu: float

    @property
    def share(self):
        """float : the share of mu^2 of all of it."""
        return self.ranges.share + self.share_sums

    @property
    def event(self):
        """Event : what all of it costs."""
        return Composed((self.ranges.event, gaussian(self._mu_sums)))

    def alone(self, mu):
        """Return this plan at all of a mu, the shares in the same proportions."""
        ranges = replace(self.ranges, mu=mu, share=self.ranges.share / self.share)
        return replace(self, ranges=ranges, mu=mu, share_sums=self.share_sums / self.share)

    def run(self, table, rows, session):
        """Return means, standard deviations and ranges, the last of shape (n_columns, 2).

        Functions of what is released. Of numbers in [-1, 1], which stand for their range, a
        variance is at least twice the deviation of its noise, and at most 1.
        """
        ranges = self._ranges(table, rows, session)
        low, high = ranges.T
        counts, sums, squares = noisy_column_sums(rows, low, high, self._mu_sums, session)
        counts = np.clip(counts, 1.0, len(rows))
        means = np.clip(sums / counts, -1.0, 1.0)
        noise = math.sqrt(0.5) * moment_noise(len(low), self._mu_sums)
        least = np.minimum(np.maximum(2.0 * noise / counts, _LEAST_VARIANCE), 1.0)
        variances = np.clip(squares / counts - means**2, least, 1.0)
        half = 0.5 * high - 0.5 * low
        return 0.5 * low + 0.5 * high + half * means, half * np.sqrt(variances), ranges

    def _ranges(self, table, rows, session):
        """Return the ranges of columns, declared or learnt, shape (n_columns, 2)."""
        centers, spreads = self.ranges.run(table, rows, session)
        reach = float(ndtri(TARGET_REACH) / ndtri(0.5 * (1.0 - self.ranges.level)))
        # A column of one number, as far as noise tells, is taken for a flag.
        half = np.where(spreads == 0.0, 1.0, max(1.0, reach) * spreads)
        half = np.maximum(half, np.maximum(_LEAST_SHARE * np.abs(centers), _LEAST_WIDTH))
        ranges = np.column_stack([centers - half, centers + half])
        for place, column in enumerate(table.columns):
            if column.edges is not None:
                ranges[place] = column.edges
        return ranges

    @property
    def _mu_sums(self):
        return math.sqrt(self.share_sums) * self.mu


def _quantile(table, rows, place, level, event, session):
    """Return the quantile of a column, the point farther from the median of two about it."""
    edges, upward = table.columns[place].edges, level >= 0.5
    given = event, session, upward
    if edges is None:
        return noisy_decimal(rows, partial(_column, place), level, *given)
    return noisy_quantile(rows, partial(_column, place), level, bounded_grid(*edges), *given)


def _spread_grid(column):
    """Return public distances, 0 and such as double every 64 points, within declared bounds."""
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

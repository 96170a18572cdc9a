"""Quantiles and moments of columns of numbers, at a fixed price."""

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpsk._oracle.column_sums import moment_noise, noisy_column_sums
from dpsk._oracle.quantiles import bounded_grid, noisy_quantile, real_grid
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.events import Composed, Repeated, gaussian
from dpsk._privacy.plans import choice_price
from dpsk._stages.bounds import widened
from dpsk.exceptions import PrivacyWarning

__all__ = ["MomentPlan", "QuantilePlan"]

#: Below this exponent points beyond all rows are no longer unlikely: there are many of them.
_LEAST_EXPONENT = 10.0
#: The least variance of numbers in [-1, 1] without noise: sums are rounded.
_LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class QuantilePlan:
    """The declaration of the same quantiles of some columns.

    Parameters
    ----------
    columns : tuple of bool
        Of which columns they are chosen.
    levels : tuple of float
        Of the quantiles, in [0, 1].
    share : float
        The share of mu^2 of all of them.
    mu : float
        The mu of which this is a share; infinite without noise.
    outward : bool
        Whether numbers between points count as the one farther from the median, so that quantiles
        cover the numbers that they stand for; else as the one above, so that all that stand on
        one number have the same quantiles.
    """

    columns: tuple
    levels: tuple
    share: float
    mu: float
    outward: bool = False

    @property
    def count(self):
        """int : how many choices are made."""
        return sum(self.columns) * len(self.levels)

    @property
    def event(self):
        """Event : what all of them cost."""
        if not self.count:
            return Composed(())
        declared, noise_multiplier = self._choice()
        return Repeated(declared(noise_multiplier), self.count)

    def alone(self, mu):
        """Return this plan at all of a mu."""
        return replace(self, mu=mu, share=1.0)

    def run(self, table, rows, releases):
        """Return the quantiles, shape (n_columns, n_levels), not decreasing; NaN of no choice."""
        found = np.full((len(self.columns), len(self.levels)), np.nan)
        if self.count:
            self._warn_of_few_rows(len(rows))
        for place in np.flatnonzero(self.columns):
            edges = table.columns[place].edges
            grid = real_grid() if edges is None else bounded_grid(*edges)
            found[place] = [noisy_quantile(rows, partial(_column, place), level, grid,
                                           *self._choice(), releases,
                                           upward=level >= 0.5 or not self.outward)
                            for level in self.levels]
        return np.sort(found, axis=1)

    def _warn_of_few_rows(self, n_samples):
        """Warn where noise may well choose points beyond all rows; by public facts."""
        if self.mu == math.inf:
            return
        width = bounded_range_epsilon(math.sqrt(self.share / self.count) * self.mu)
        tail = min(min(level, 1.0 - level) for level in self.levels)
        exponent = 0.5 * width * n_samples * tail
        if exponent < _LEAST_EXPONENT:
            warnings.warn(
                f"n={n_samples} rows are too few for {self.count} quantiles within the budget, "
                f"which take {_LEAST_EXPONENT / exponent:.2g} times as many: they may lie far "
                "from all rows; declare bounds in columns, or raise epsilon.", PrivacyWarning,
                stacklevel=2)

    def _choice(self):
        """Return the declaration of one choice, and its noise multiplier."""
        return choice_price(self.count, math.sqrt(self.share) * self.mu)


@dataclass(frozen=True)
class MomentPlan:
    """The declaration of ranges of columns, and then of counts, sums and sums of squares.

    Parameters
    ----------
    ranges : QuantilePlan
        Of the columns without public bounds: two quantiles each.
    share_sums : float
        The share of mu^2 of all sums.
    mu : float
        The mu of which these are shares; infinite without noise.
    """

    ranges: QuantilePlan
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

    def run(self, table, rows, releases):
        """Return means, standard deviations and ranges, the last of shape (n_columns, 2).

        Functions of what is released. Of numbers in [-1, 1], which stand for their range, a
        variance is at least twice the deviation of its noise, and at most 1.
        """
        ranges = self.ranges.run(table, rows, releases)
        tail = self.ranges.levels[0]
        for place, column in enumerate(table.columns):
            ranges[place] = column.edges if column.edges else widened(*ranges[place], tail)
        low, high = ranges.T
        counts, sums, squares = noisy_column_sums(rows, low, high, self._mu_sums, releases)
        counts = np.clip(counts, 1.0, len(rows))
        means = np.clip(sums / counts, -1.0, 1.0)
        noise = math.sqrt(0.5) * moment_noise(len(low), self._mu_sums)
        least = np.minimum(np.maximum(2.0 * noise / counts, _LEAST_VARIANCE), 1.0)
        variances = np.clip(squares / counts - means**2, least, 1.0)
        half = 0.5 * high - 0.5 * low
        return 0.5 * low + 0.5 * high + half * means, half * np.sqrt(variances), ranges

    @property
    def _mu_sums(self):
        return math.sqrt(self.share_sums) * self.mu


def _column(place, rows, part):
    return rows.take(part).X[:, place]

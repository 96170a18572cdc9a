"""Counts, sums, means and variances of columns, each from one noisy sum over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.errors import quietly
from dpsk._mechanism.core import Statistic, mu_of
from dpsk._statistics.column_sums import moment_noise, noisy_column_sums
from dpsk._statistics.part_sums import (
    noisy_part_moments,
    noisy_part_sums,
    part_moment_noise,
    part_sum_noise,
)
from dpsk.metrics._table import REACH
from dpsk.statistics._plan import HEAPED, Ranges, entry_bound, within
from dpsk.statistics._reading import BY, HIDDEN, Columns, estimated

if TYPE_CHECKING:
    from typing import Any

    from dpsk.metrics._estimate import Estimate

__all__ = ["Moments", "dp_count", "dp_mean", "dp_std", "dp_sum", "dp_var", "summed_moments"]

#: Note on columns in which one number hides the ends.
_HEAPED = f"{HEAPED}; declare bounds"
#: Least count for which a mean is reported, in deviations of its noise.
_KNOWN = 3.0


def dp_count(X: Any, **options: Any) -> Estimate:
    """Return how many entries are not missing, with error and certificate.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, n_columns), Series or DataFrame
        Numbers, booleans or categories; the result has an entry for each column of a table.
    **options : dict
        As for `dp_mean`: epsilon, delta, groups, random_state, by, categories.

    Returns
    -------
    count : Estimate
        The count with its standard error, and the certificate in `privacy_`.
    """
    columns = Columns.of("dp_count", X, options, *BY, only=None)
    values = columns.table.values
    coded = np.array([each.categories is not None for each in columns.table.columns])
    there = np.where(coded, values >= 0.0, ~np.isnan(values))
    return _summed(columns, there.astype(np.float64), np.zeros(len(coded)), np.ones(len(coded)),
                   "count")


def dp_sum(X: Any, *, bounds: Any = None, **options: Any) -> Estimate:
    """Return the sum of numbers within bounds, with error and certificate.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, n_columns), Series or DataFrame
        As for `dp_mean`.
    bounds : (float, float), dict or None, default=None
        As for `dp_mean`, but required; only booleans need no bounds.
    **options : dict
        As for `dp_mean`: epsilon, delta, groups, random_state, by, categories.

    Returns
    -------
    total : Estimate
        The sum with its standard error, and the certificate in `privacy_`.
    """
    columns = Columns.of("dp_sum", X, {**options, "bounds": bounds}, "bounds", *BY)
    edges = columns.edges()
    if np.isnan(edges).any():
        raise ValueError("bounds: a column has none, but they set the noise on a sum; declare "
                         "bounds for every column, such as (0, 100).")
    # A missing value adds 0, so the range must contain 0.
    low, high = np.minimum(edges[:, 0], 0.0), np.maximum(edges[:, 1], 0.0)
    values = np.nan_to_num(np.clip(columns.table.values, *edges.T), nan=0.0)
    return _summed(columns, values, low, high, "sum")


def dp_mean(X: Any, *, epsilon: float = 1.0, delta: float | None = None, bounds: Any = None,
            groups: Any = None, random_state: Any = None, population: bool = False,
            by: Any = None, categories: list[Any] | None = None) -> Estimate:
    """Return the mean of numbers within a range, with error and certificate.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, n_columns), Series or DataFrame
        Numbers or booleans; NaN values are missing and are ignored. With two dimensions, or a
        DataFrame, the result has an entry for every column.
    epsilon : float, default=1.0
        Privacy budget; smaller is more private. inf: no noise, not private.
    delta : float or None, default=None
        How far a probability may exceed epsilon's bound. None: ``1 / n**2``.
    bounds : (float, float), dict or None, default=None
        Public bounds; numbers outside are clipped to them. A dict gives bounds of some columns, by
        name or position. None: learned for a part of the budget; booleans have (0, 1).
    groups : array-like of shape (n,) or None, default=None
        The person of each row, for user-level privacy: a row of a person with k rows counts 1 / k,
        so without missing values the mean is that of the people's means. The number of people
        replaces n.
    random_state : None, int or NoiseSeed, default=None
        Only a NoiseSeed has an effect: noise that repeats.
    population : bool, default=False
        Whether the interval is for the mean of the population that the rows are a sample of.
        False: for the mean of these rows.
    by : array-like of shape (n,), Series or None, default=None
        Splits the rows, such as by town: the result has an entry for each of `categories`, on its
        first axis. Noise does not grow with their number.
    categories : list or None, default=None
        Public categories of `by`; rows of others are left out. None: those of its dtype.

    Returns
    -------
    mean : Estimate
        The mean with its standard error, its `bounds` and its certificate `privacy_`. NaN where
        noise hides the number of values; its `note` says so.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.statistics import dp_mean
    >>> mean = dp_mean(np.arange(1000) % 10, bounds=(0, 9), epsilon=8.0)
    >>> low, high = mean.interval(0.95)
    >>> low < mean < high, mean.privacy_.epsilon
    (True, 8.0)
    >>> towns = np.repeat(["Aix", "Ulm"], 500)
    >>> means = dp_mean(np.arange(1000) % 10, bounds=(0, 9), epsilon=8.0, by=towns,
    ...                 categories=["Aix", "Ulm"])
    >>> bool(abs(means.value - 4.5).max() < 1.0)
    True
    """
    options = {"epsilon": epsilon, "delta": delta, "bounds": bounds, "groups": groups,
               "random_state": random_state, "population": population, "by": by,
               "categories": categories}
    return _moments("dp_mean", X, options, "population", squares=population).mean(population)


def dp_var(X: Any, **options: Any) -> Estimate:
    """Return the variance of numbers within a range, with error and certificate.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, n_columns), Series or DataFrame
        As for `dp_mean`.
    **options : dict
        As for `dp_mean`: epsilon, delta, bounds, groups, random_state, by, categories.

    Returns
    -------
    variance : Estimate
        The variance of the rows, with divisor n; the interval has no sampling error. NaN where
        noise hides the number of values.
    """
    return _moments("dp_var", X, options).var()


def dp_std(X: Any, **options: Any) -> Estimate:
    """Return the standard deviation of numbers in a range, with its error.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, n_columns), Series or DataFrame
        As for `dp_mean`.
    **options : dict
        As for `dp_mean`: epsilon, delta, bounds, groups, random_state, by, categories.

    Returns
    -------
    deviation : Estimate
        The root of the variance; its interval ends are roots too, without sampling error.
    """
    return _moments("dp_std", X, options).std()


@quietly
def _summed(columns, values, low, high, what):
    """Return the Estimate of sums of numbers without missing values, within public ranges."""
    n, half = columns.budget.n_samples, 0.5 * (high - low)
    summed = noisy_column_sums if columns.parts is None else partial(
        noisy_part_sums, n_parts=columns.n_parts)
    found, certificate = columns.released(
        what, Statistic(summed), (columns.rows_of(values), low, high), enforced=[entry_bound()])
    mu = mu_of(certificate.noise_multiplier)
    if columns.parts is None:
        total = half * found[1] + 0.5 * (low + high) * n
        off = REACH * half * moment_noise(len(low), mu)
    else:
        total, off = found, REACH * part_sum_noise(low, high, mu)
    return estimated(columns, np.clip(total, n * low, n * high), total - off, total + off,
                     (n * low, n * high), certificate)


@quietly
def _moments(name, X, options, *more, squares=True):
    """Release moments of columns; with parts of rows, squares only if requested."""
    columns = Columns.of(name, X, options, "bounds", *BY, *more)
    plan, data = within(columns, summed_moments(columns, squares))
    # `squares` scales the noise on parts. The same noise at two scales would reveal sums.
    found, certificate = columns.released(
        "moments", plan, data, enforced=[entry_bound()],
        settings=() if columns.parts is None else squares)
    return Moments.of(columns, *found, certificate, squares)


def summed_moments(columns, squares=True):
    """Return the function that releases moments of columns, or of their parts."""
    return noisy_column_sums if columns.parts is None else partial(
        noisy_part_moments, n_parts=columns.n_parts, squares=squares)


@dataclass(frozen=True)
class Moments:
    """Noisy counts, sums and sums of squares of columns, and statistics computed from them.

    `ranges` are their `Ranges`, and `sums` has shape (3, n_columns) or (3, n_parts,
    n_columns). Sums are of values relative to the middle of the range, in units of its half
    width. `noise` is the standard deviation of the noise on a sum.
    """

    columns: Any
    ranges: Ranges
    sums: Any
    noise: float
    certificate: Any

    @classmethod
    def of(cls, columns, ranges, sums, mu, certificate=None, squares=True):
        """Return the moments, given the mu of their sums."""
        count = len(ranges.ends)
        noise = moment_noise(count, mu) if columns.parts is None else part_moment_noise(
            count, squares, mu)
        return cls(columns, ranges, sums, noise, certificate)

    @property
    def ends(self):
        """ndarray : ends of the ranges, shape (n_columns, 2)."""
        return self.ranges.ends

    @property
    def _half(self):
        return 0.5 * self.ends[:, 1] - 0.5 * self.ends[:, 0]

    @property
    def count_noise(self):
        """ndarray : noise on counts, 0 for columns that cannot have missing values."""
        return np.where(self.columns.full, 0.0, self.noise)

    @property
    def counts(self):
        """ndarray : numbers of values in columns."""
        return np.where(self.columns.full, float(self.columns.budget.n_samples), self.sums[0])

    def count(self):
        """Return the numbers of values in columns, an Estimate."""
        n, off = self.columns.budget.n_samples, REACH * self.count_noise
        return estimated(self.columns, np.clip(self.counts, 0.0, n), self.counts - off,
                         self.counts + off, (0.0, float(n)), self.certificate)

    def mean(self, population=False):
        """Return the means, an Estimate.

        Its interval is Fieller's: all means m for which ``sum - m count`` is within 1.96 of its
        own standard errors of 0. It has the same coverage if noise hides much of the count.
        One end is moved out by the estimate of what a learned range cuts from the mean.
        """
        counts, (_, sums, squares) = self.counts, self.sums
        safe = self._safe_counts()
        spread = np.clip(squares / safe - (sums / safe)**2, 0.0, 1.0) * safe * population
        a = safe**2 - (REACH * self.count_noise)**2
        c = sums**2 - REACH**2 * (self.noise**2 + spread)
        root = np.sqrt(np.maximum((counts * sums)**2 - a * c, 0.0))
        middle, half = 0.5 * self.ends.sum(axis=1), self._half
        mean = middle + half * sums / safe
        # Sums of squares that were not released are 0.
        square = np.where(squares == 0.0, np.nan,
                          mean**2 + half**2 * (squares / safe - (sums / safe)**2))
        cut = self.ranges.cut(mean, square) / half
        return self._told(sums / safe, (counts * sums - root) / a + np.minimum(cut, 0.0),
                          (counts * sums + root) / a + np.maximum(cut, 0.0),
                          self.ends.T, middle, half)

    def var(self):
        """Return the variances, an Estimate."""
        value, low, high = self._variance()
        return self._told(value, low, high, (0.0, self._half**2), 0.0, self._half**2)

    def std(self):
        """Return the standard deviations, an Estimate."""
        return self._told(*np.sqrt(self._variance()), (0.0, self._half), 0.0, self._half)

    def _variance(self):
        """Return variances and the ends of their intervals, in squares of half a range."""
        counts, noise = self._safe_counts(), self.noise
        mean, square = self.sums[1] / counts, self.sums[2] / counts
        # The mean of the squared noise is known, and corrected.
        value = square - mean**2 + (noise / counts)**2
        error = np.sqrt(noise**2 * (0.5 + 4.0 * mean**2 + 2.0 * (noise / counts)**2)
                        + (self.count_noise * (square - 2.0 * mean**2))**2) / counts
        # A noisy variance may be negative; the upper end is then half a standard error.
        high = np.maximum(value + REACH * error, 0.5 * error)
        return np.clip([value, value - REACH * error, high], 0.0, 1.0)

    def _safe_counts(self):
        """Return counts, with NaN for those that noise hides."""
        known = self.counts > _KNOWN * np.maximum(self.count_noise, 1e-300)
        return np.where(known, self.counts, np.nan)

    def _told(self, value, low, high, bounds, middle, scale):
        """Return the Estimate of a statistic, NaN where noise hides the count."""
        hidden = np.isnan(self._safe_counts())
        found = [np.where(hidden, np.nan, middle + scale * each) for each in (value, low, high)]
        bounds = [np.broadcast_to(end, hidden.shape) for end in bounds]
        notes = [text for text, each in ((HIDDEN, hidden), (_HEAPED, self.ranges.hidden))
                 if each.any()]
        return estimated(self.columns, np.clip(found[0], *bounds), *found[1:], bounds,
                         self.certificate, "; ".join(notes) or None)

"""Covariances and correlations of columns, from one noisy second moment."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.errors import quietly
from dpsk._data.targets import centered
from dpsk._models import LinearModel
from dpsk._statistics.moments import mean_noise, noisy_second_moment, second_moment_noise
from dpsk.metrics._estimate import Estimate
from dpsk.statistics._plan import entry_bound, within
from dpsk.statistics._reading import Columns

if TYPE_CHECKING:
    from typing import Any

__all__ = ["dp_corrcoef", "dp_covariance"]

#: Least variance for which correlations are reported, in deviations of its noise.
_KNOWN = 5.0


@quietly
def dp_covariance(X: Any, **options: Any) -> Estimate:
    """Return the covariance matrix of columns, with errors and certificate.

    Parameters
    ----------
    X : array-like of shape (n, n_columns), or DataFrame
        Numbers, none of which may be missing.
    **options : dict
        As for `dp_mean`: epsilon, delta, bounds, groups, random_state.

    Returns
    -------
    covariance : Estimate
        Matrix of shape (n_columns, n_columns), with divisor n. It may not be positive
        semidefinite, unlike `DPEmpiricalCovariance`. Intervals have no sampling error.
    """
    return _Pairs("dp_covariance", X, options).covariance()


@quietly
def dp_corrcoef(X: Any, **options: Any) -> Estimate:
    """Return the correlation matrix of columns, with errors and certificate.

    Parameters
    ----------
    X : array-like of shape (n, n_columns), or DataFrame
        Numbers, none of which may be missing.
    **options : dict
        As for `dp_mean`: epsilon, delta, bounds, groups, random_state.

    Returns
    -------
    correlations : Estimate
        Matrix of shape (n_columns, n_columns), NaN where noise hides the variance of a column.
        Intervals have no sampling error.
    """
    return _Pairs("dp_corrcoef", X, options).correlation()


class _Pairs:
    """A noisy second moment of columns within ranges, and statistics computed from it."""

    def __init__(self, name, X, options):
        columns = Columns.of(name, X, options, "bounds", whole=True)
        plan, data = within(columns, _second_moment, widened=False)
        (ranges, moment, mu), self._certificate = columns.released(
            "second moment", plan, data, enforced=[entry_bound()])
        low, high = ranges.ends.T
        self._half = 0.5 * high - 0.5 * low
        model, n = _model(len(low)), columns.budget.n_samples
        self._noise = second_moment_noise(model, n, mu)
        self._mean_noise = float(mean_noise(model, n, mu)[0])
        self._mean = moment[:-1, -1]
        # The mean of the squared noise is known, and corrected.
        self._own = moment[:-1, :-1] - np.outer(self._mean, self._mean) + np.diag(
            np.full(len(low), self._mean_noise**2))

    def covariance(self):
        """Return the covariance, an Estimate."""
        even = np.sqrt(0.5 + 0.5 * np.eye(len(self._mean))) * self._noise
        squares = self._mean**2
        moved = squares[:, None] + squares + 2.0 * np.diag(squares)
        error = np.sqrt(even**2 + moved * self._mean_noise**2 + self._mean_noise**4)
        unit = np.outer(self._half, self._half)
        return Estimate(unit * self._own, unit * error, (-unit, unit), self._certificate)

    def correlation(self):
        """Return the correlations, an Estimate."""
        spreads = np.diag(self._own)
        known = spreads > _KNOWN * self._noise
        safe = np.where(known, spreads, np.nan)
        root = np.sqrt(np.outer(safe, safe))
        value = np.clip(self._own / root, -1.0, 1.0)
        # Squared derivatives of the correlation with respect to each noisy entry.
        ratio = self._mean / safe
        off = 0.5 / root**2 + value**2 / 4.0 * (safe[:, None]**-2.0 + safe**-2.0)
        by_mean = ((value * ratio[:, None] - self._mean / root)**2
                   + (value * ratio - self._mean[:, None] / root)**2)
        error = np.sqrt(off * self._noise**2 + by_mean * self._mean_noise**2)
        np.fill_diagonal(value, np.where(known, 1.0, np.nan))
        np.fill_diagonal(error, np.where(known, 0.0, np.nan))
        return Estimate(value, np.where(np.isnan(value), np.inf, error), (-1.0, 1.0),
                        self._certificate)


def _model(n_columns):
    """Return the model of rows with entries in [-1, 1] and an intercept."""
    return LinearModel(n_columns, None, True, math.sqrt(n_columns))


def _second_moment(rows, low, high, mu, session):
    """Return the noisy second moment of values scaled from their ranges to [-1, 1]."""
    X = rows.take(slice(0, len(rows))).X
    z = centered(np.clip(X, low, high), low, high)
    return noisy_second_moment(_model(len(low)), replace(rows, X=np.clip(z, -1.0, 1.0)), mu,
                               session)

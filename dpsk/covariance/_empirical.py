"""The covariance of a table, with differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.linalg import pinvh
from sklearn.covariance import EmpiricalCovariance
from sklearn.utils.validation import check_is_fitted

from dpsk._callbacks import private_fit
from dpsk._data.source import Rows
from dpsk._data.validation import FLOATS, check_unlabeled_rows
from dpsk._docs import documented
from dpsk._estimator import DPEstimator
from dpsk._fit import run_private
from dpsk._mechanism.core import Share, Statistic, mu_of
from dpsk._parameters import GAUSSIAN_DELTA, PARAMETER_CONSTRAINTS, check_flag
from dpsk._problem import Budget
from dpsk._ranged import RANGED_CONSTRAINTS, Ranged
from dpsk._stages.center_rounds import rows_within
from dpsk._stages.class_models import roots
from dpsk._stages.class_plan import RangedComposite
from dpsk._statistics.moments import noisy_second_moment, second_moment_noise

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import FloatArray, Table

__all__ = ["DPEmpiricalCovariance"]


@documented
class DPEmpiricalCovariance(Ranged, DPEstimator, EmpiricalCovariance):
    r"""Covariance of the columns of a table, with differential privacy.

    The estimate is the noisy second moment of rows minus their noisy mean. Smaller eigenvalues,
    in units of the ranges, are raised to the noise on a variance, so the estimate is invertible.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    store_precision : bool, default=True
        Whether to keep the inverse as well.
    assume_centered : bool, default=False
        If True, no mean is released, and moments are taken about 0, or about the midpoint of
        declared ranges.
    %(feature_range)s %(data_norm_ranged)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    location_ : ndarray of shape (n_features_in_,)
        The private mean; with `assume_centered` zeros, or the midpoint of declared ranges.
    covariance_ : ndarray of shape (n_features_in_, n_features_in_)
        The covariance of clipped rows, with divisor n; positive definite.
    precision_ : ndarray of shape (n_features_in_, n_features_in_)
        The inverse of `covariance_`; None if it is not stored.
    covariance_noise_ : ndarray of shape (n_features_in_, n_features_in_)
        Standard deviations of the noise on the entries of the covariance.
    %(ranged)s
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    sklearn.covariance.EmpiricalCovariance : Without noise; its methods are inherited.
    DPPCA : Principal components of a table.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: learnt bounds, noisy
    means of the rows, and their noisy second moment. The number of rows and features and all
    parameters are public. `score` and `mahalanobis` are exact for the given rows.

    References
    ----------
    Dwork, Talwar, Thakurta, Zhang (2014), "Analyze Gauss", Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPEmpiricalCovariance
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = DPEmpiricalCovariance(epsilon=4.0, feature_range=(0, 16)).fit(X)
    >>> model.covariance_.shape
    (64, 64)
    """

    _solvers: ClassVar[dict] = {}
    _auto_is_gaussian: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        **PARAMETER_CONSTRAINTS, **RANGED_CONSTRAINTS, "delta": GAUSSIAN_DELTA,
        "store_precision": check_flag, "assume_centered": check_flag}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 store_precision: bool = True, assume_centered: bool = False,
                 feature_range: tuple[float, float] | str | None = "auto",
                 data_norm: float | str | None = "auto",
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.store_precision = store_precision
        self.assume_centered = assume_centered
        self.feature_range = feature_range
        self.data_norm = data_norm
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Any, y: Table | None = None) -> Self:
        """Release the covariance under the declared budget.

        Parameters
        ----------
        %(X_dense)s
        y : None
            Ignored.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        self._check_params()
        X = check_unlabeled_rows(self, X, dtype=FLOATS)
        rows = Rows(X, np.zeros(len(X), dtype=np.int8))
        budget = Budget(*X.shape, *self._budget(len(X)))
        (learns_ranges, norm, spread, _), data = self._begins(rows, budget)
        plan = _Moments(budget, learns_ranges, norm, spread, not self.assume_centered)
        (row_map, moment, noise, radius), self.privacy_ = run_private(
            self._method(), "noisy second moment", budget, plan, rows, data,
            random_state=self.random_state, verbose=self.verbose, enforced=self._enforced(plan),
            public=["number of rows and of features, feature names, types of numbers and table",
                    "all parameters"],
            released=["location_", "covariance_", "precision_", "covariance_noise_", "center_",
                      "data_norm_", "feature_range_"])
        self.center_ = row_map.undone(np.zeros(X.shape[1]))
        self.feature_range_, self.data_norm_ = row_map.ends, float(radius)
        scale = np.ones(X.shape[1]) if row_map.low is None else 0.5 * (row_map.high - row_map.low)
        factor = scale[:, None] * roots(moment[None], noise)[0]
        self.location_ = self.center_
        even = np.sqrt(0.5 + 0.5 * np.eye(X.shape[1]))
        self.covariance_noise_ = noise * even * np.outer(scale, scale)
        self.covariance_, self.precision_ = factor @ factor.T, None
        if self.store_precision:
            self.precision_ = _inverse(self.covariance_)
        return self

    def get_precision(self) -> FloatArray:
        """Return the inverse of the covariance.

        Returns
        -------
        precision : ndarray of shape (n_features_in_, n_features_in_)
            `precision_`, if it is stored.
        """
        check_is_fitted(self, "privacy_")
        found: Any = self.precision_ if self.store_precision else _inverse(
            self.covariance_)
        return found

    def _check_table(self, X, y):
        check_unlabeled_rows(self, X, dtype=FLOATS)


def _inverse(covariance):
    """Return the inverse of a covariance; without noise, the pseudo-inverse if it is singular."""
    units = np.sqrt(np.diag(covariance))
    # Without units, columns of small numbers would be mistaken for rounding errors.
    units = np.outer(*2 * [np.where(units > 0.0, units, 1.0)])
    return pinvh(covariance / units, check_finite=False) / units


@dataclass(frozen=True)
class _Moments(RangedComposite):
    """Second moment of rows minus their mean, within declared or learnt bounds."""

    budget: Budget
    learns_ranges: bool
    norm: float | None
    spread: float | None
    centers: bool

    @property
    def parts(self):
        """tuple of Mechanism : ranges; bounds and mean; the second moment."""
        return (*self._first_parts, Share(Statistic(noisy_second_moment),
                                          1.0 - self._centered.mean_share))

    def run(self, data, session, noise_multiplier):
        """Return the map of rows, the noisy second moment, its noise, and the norm bound."""
        row_map, mapped, radius = self._begun(data, session, noise_multiplier)
        model, (*_, squares) = rows_within(radius, row_map.width), self.parts
        moment = squares.run((model, mapped), session, noise_multiplier)
        mu = mu_of(squares.own(noise_multiplier))
        return row_map, moment, second_moment_noise(model, len(data[0]), mu), radius

    def _ranges(self, ends, names, session):
        if not self.centers:
            # Rows are assumed to lie about 0, whatever the midpoint of released ends.
            ends = np.abs(ends).max(axis=1)[:, None] * [-1.0, 1.0]
        return super()._ranges(ends, names, session)

"""Poisson regression with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.metrics import d2_tweedie_score

from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.targets import check_target_bounds, shares
from dpsk._defaults.losses import LONGEST_COUNTS
from dpsk._docs import documented
from dpsk._objective.losses import CappedPoisson
from dpsk._parameters import check_learnt
from dpsk.linear_model._regressor import LinearRegressor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._typing import AnyArray, Table

__all__ = ["DPPoissonRegressor"]


@documented
class DPPoissonRegressor(LinearRegressor):
    r"""Poisson regression with a log link, trained with differential privacy.

    Targets are clipped to public bounds and divided by the upper one, `B`. It minimizes, under
    noise, half the Poisson deviance of ``exp(x' w + b)``, continued linearly where the prediction
    exceeds the target by more than `B`. Predictions are on the scale of the targets. With
    ``fit_intercept=False`` the prediction for a row of zeros is 1, clipped to `target_bounds_`.

    Parameters
    ----------
    %(epsilon)s %(delta)s %(target_bounds)s
        The lower bound must be at least 0.
    %(alpha)s %(penalty)s %(l1_ratio)s %(radius)s
    %(solver_margin)s %(precondition)s %(max_iter)s
        Gradients of rows are scaled down to norm `clip_norm`. If that is inf, the loss and
        `data_norm` bound them.
    %(data_norm)s %(data_norm_inf)s %(fit_intercept)s
    %(solver_options)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(coef_)s %(intercept_)s
    %(center__linear)s %(feature_scales_)s %(data_norm_)s %(target_bounds_)s %(preconditioner_)s
    %(preconditioner_scales_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    DPRidge : For targets that may be negative.
    sklearn.linear_model.PoissonRegressor : Without privacy.

    Notes
    -----
    %(privacy)s

    ``predict(X)`` is ``exp(X @ coef_ + intercept_)`` within `target_bounds_`. Where `data_norm_`
    is learned, rows longer than 1.1 times that norm are scaled down to it, because predicted
    means grow exponentially.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 4; Zhang, Zheng, Mou, Wang (2017), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk import DPPoissonRegressor
    >>> X = np.linspace(-1, 1, 500)[:, None]
    >>> y = np.round(np.exp(1 + X[:, 0]))
    >>> model = DPPoissonRegressor(epsilon=2.0, target_bounds=(0, 20), random_state=0)
    >>> bool((model.fit(X, y).predict(X) > 0).all())
    True
    """

    _default_bounds = (0.0, 1.0)
    _constraints: ClassVar[dict] = {
        **LinearRegressor._constraints,
        "target_bounds": check_learnt(
            lambda name, value: check_target_bounds(value, (0.0, 1.0), 0.0))}
    _lowest = 0.0
    _squares = False
    _reach = LONGEST_COUNTS

    def _loss(self):
        return CappedPoisson()

    def _bounded_loss(self, bounds):
        return CappedPoisson(self._fixed_offset(bounds))

    def _fixed_offset(self, bounds):
        """Return the offset that replaces an intercept: minus the log of the upper bound."""
        return 0.0 if self.fit_intercept or bounds is None else -float(np.log(bounds[1]))

    def _check_learnable(self, problem):
        if not self.fit_intercept:
            raise ValueError("target_bounds: without an intercept the upper bound is part of the "
                             "loss, and is not learnt; declare target_bounds, such as (0, 20).")
        super()._check_learnable(problem)

    def _widest(self, low, high):
        return 0.0, high if high > 0 else 1.0

    def _target_map(self):
        return shares

    def _unmapped(self, coef, intercept, low, high):
        return coef, float(intercept) + float(np.log(high)) + self._fixed_offset((low, high))

    @blockwise
    @quietly
    def predict(self, X: Table) -> AnyArray:
        """Return predicted means of the targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        means : ndarray of shape (n,)
            On the scale of the targets, within `target_bounds_`.
        """
        return self._within_bounds(np.exp(self._predict_raw(X)))

    @quietly
    def score(self, X: Table, y: Table, sample_weight: ArrayLike | None = None) -> float:
        """Return D^2, the fraction of the Poisson deviance explained.

        It is exact for the given rows, and has no privacy guarantee for them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)
            Rows as in `fit`.
        y : array-like of shape (n,)
            Targets; negative ones count as 0.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows in the deviance.

        Returns
        -------
        score : float
            At most 1; the best constant has 0.
        """
        # The deviance is undefined where a mean underflows to 0.
        means = np.maximum(self.predict(X), np.finfo(np.float32).tiny)
        y = np.maximum(np.asarray(y), 0)
        return float(d2_tweedie_score(y, means, sample_weight=sample_weight, power=1))

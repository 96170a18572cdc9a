"""What the linear regressors share."""

from abc import abstractmethod
from typing import ClassVar

from dpsk._data.errors import quietly
from dpsk._docs import documented
from dpsk._mixins import BOUNDED_TARGETS, BoundedRegressor
from dpsk._parameters import check_auto_flag
from dpsk._stages import ROW_STAGES
from dpsk.linear_model._base import LinearEstimator

__all__ = ["LinearRegressor"]


def _check_row_map(name, value):
    """Return a valid `precondition`; predictions in the units of targets need rows' lengths."""
    stage = ROW_STAGES.get(check_auto_flag(name, value, ROW_STAGES))
    if stage is not None and stage.normalizes:
        raise ValueError(f"{name}={value!r}: rows of one length suit the sign or the order of a "
                         "score, not its size; leave precondition='auto'.")
    return value


@documented
class LinearRegressor(BoundedRegressor, LinearEstimator):
    """Base of regressors on targets clipped to public bounds.

    Targets are mapped to a fixed interval before the fit and coefficients mapped back, so that
    losses and defaults do not depend on the unit of the target.
    """

    _constraints: ClassVar[dict] = {**LinearEstimator._constraints, **BOUNDED_TARGETS,
                                    "precondition": _check_row_map}

    def _scalar_loss(self):
        return self._loss()

    @abstractmethod
    def _loss(self):
        """Return the loss on the mapped targets."""

    @quietly
    def fit(self, X, y, sample_weight=None, *, public_X=None, public_y=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X)s %(y_targets)s %(sample_weight)s
            With the moments of "sufficient_statistics", and with solvers that rest on the
            curvature of a row's loss, weights count for at most 1: divide them by their public
            bound. Moments know the count of rows, and not the sum of weights: with an intercept
            weights of 1 are not the same as None there.
        %(public_X)s

        Returns
        -------
        self : object
        """
        self._check_params()
        low, high = self._bounds()
        X, y = self._check_rows(X, y)
        weights = self._check_weights(sample_weight, X)
        y = self._targets("y", y, X.dtype)
        holdout = self._check_public_rows(public_X, public_y, X)
        if holdout is not None:
            holdout = holdout[0], self._targets("public_y", holdout[1], X.dtype)
        coef, intercept = self._fit_linear(
            X, y, self._loss(), None, weights=weights, holdout=holdout,
            free_weights=weights is not None,
            enforced=[self._target_bound()], public=self._weight_facts(sample_weight))
        self.coef_, self.intercept_ = self._unmapped(coef, intercept, low, high)
        return self

    def _targets(self, what, y, dtype):
        """Return targets clipped to the bounds, and mapped."""
        return self._mapped(self._clipped(what, y), *self._bounds()).astype(dtype, copy=False)

    def _mapped(self, y, low, high):
        """Return targets mapped into [-1, 1]."""
        middle, half = self._unit(low, high)
        return (y - middle) / half

    def _unit(self, low, high):
        """Return what targets are mapped by: the middle of the bounds, and half their width.

        Without an intercept nothing could make up for a shift: 0, and the larger bound.
        """
        if self.fit_intercept:
            return 0.5 * (low + high), 0.5 * (high - low)
        return 0.0, max(abs(low), abs(high))

    def _unmapped(self, coef, intercept, low, high):
        """Return coefficients and intercept on the scale of the targets."""
        middle, half = self._unit(low, high)
        return coef * coef.dtype.type(half), float(intercept) * half + middle

    @quietly
    def predict(self, X):
        """Return predicted targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        targets : ndarray of shape (n,)
        """
        return self._predict_raw(X)

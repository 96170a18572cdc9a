"""What the linear estimators share: from rows and parameters to a Problem, and back."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from dpsk._base import DPEstimator
from dpsk._models import LinearModel
from dpsk._penalties import PENALTIES
from dpsk._privacy.certificate import Enforced
from dpsk._solvers import SOLVERS, Problem
from dpsk._utils.discretion import discreetly
from dpsk._utils.parameters import check_choice, check_flag, check_real

__all__ = ["LinearEstimator"]

_FLOATS = [np.float64, np.float32]


class LinearEstimator(DPEstimator):
    """Base of estimators whose raw prediction is ``x' coef + intercept`` of a bounded row."""

    def _check_params(self):
        self._check_privacy_params()
        check_real("alpha", self.alpha, low=0, remedy="a finite number >= 0")
        check_real("l1_ratio", self.l1_ratio, low=0, high=1, remedy="a number in [0, 1]")
        check_choice("penalty", self.penalty, PENALTIES)
        check_flag("fit_intercept", self.fit_intercept)

    def _check_rows(self, X, y):
        """Validate training rows and targets; no message carries a data value."""
        return discreetly("X or y", validate_data, self, X, y, dtype=_FLOATS,
                          ensure_min_samples=2, **self._target_checks)

    def _fit_linear(self, X, y, loss, n_outputs, *, enforced=(), public=()):
        """Fit on validated rows and encoded targets; set the fitted attributes.

        Returns
        -------
        coef : ndarray of shape (n_features,) or (n_features, n_outputs), dtype of X
        intercept : float or ndarray of shape (n_outputs,), dtype of X
        """
        epsilon, delta = self._budget(len(X))
        name = self._solver_name(delta)
        solver = SOLVERS[name]
        model = LinearModel(X.shape[1], n_outputs, bool(self.fit_intercept),
                            float(self.data_norm))
        free_rows = int(self.fit_intercept and not solver.penalizes_intercept)
        problem = Problem(
            n_samples=len(X), model=model, loss=loss,
            penalty=PENALTIES[self.penalty](float(self.alpha), float(self.l1_ratio), free_rows),
            epsilon=epsilon, delta=delta, dtype=solver.working_dtype or X.dtype.name)
        theta = self._solve(
            problem, name, X, y,
            enforced=[self._row_bound(), *enforced],
            public=["number of rows and of features, feature names, dtype", "all parameters",
                    *public],
            released=["coef_", "intercept_"])
        theta = theta.astype(X.dtype)
        if not self.fit_intercept:
            return theta, np.zeros(model.shape[1:], dtype=X.dtype)
        return theta[:-1], theta[-1]

    def _row_bound(self):
        origin = "default" if self.data_norm == 1.0 else "declared"
        return Enforced("data_norm", float(self.data_norm), origin,
                        "l2 norm of one row of features; longer rows are scaled down, in "
                        "training and in prediction"
                        + (", then a constant 1 is appended" if self.fit_intercept else ""))

    def _predict_raw(self, X):
        """Return raw predictions of bounded rows, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self)
        X = discreetly("X", validate_data, self, X, dtype=_FLOATS, reset=False)
        coef = self.coef_.T
        columns = coef if coef.ndim == 2 and coef.shape[1] > 1 else coef.reshape(-1)
        model = LinearModel(X.shape[1], None, False, float(self.data_norm))
        with np.errstate(all="ignore"):
            scale, _ = model.bound_rows(X, X.dtype)
            return model.predict_raw(columns, X, scale) + self.intercept_

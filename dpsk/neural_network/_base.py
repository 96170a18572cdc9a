"""Base of the multilayer perceptrons."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.validation import FLOATS, check_prediction_rows, in_single
from dpsk._defaults.networks import few_rows_factor
from dpsk._objective.penalties import PENALTIES
from dpsk._parameters import check_auto_flag, number, optional
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages import UsualTemperature
from dpsk._warnings import follows_private_step
from dpsk.neural_network._fit import SHORT_NORM, NetworkFit

if TYPE_CHECKING:
    from typing import Any

__all__ = ["NetworkEstimator"]

_WORDS = ("l2 norm of one row of features; longer rows are scaled down, in training and in "
          "prediction")


class NetworkEstimator(NetworkFit):
    """Base of estimators whose raw prediction comes from fully connected layers."""

    # Per-sample gradients are clipped, so rows need no norm bound.
    _default_norm = None
    _constraints: ClassVar[dict] = {
        **NetworkFit._constraints,
        "data_norm": optional(number("None, or a number in [1e-10, 1e10], a bound on row norms",
                                     low=1e-10, high=1e10)),
        "precondition": partial(check_auto_flag, names=("whitening",))}

    @classmethod
    def _offered_solvers(cls):
        """Return the names of the solvers that train networks."""
        return [name for name, solver in cls._solvers.items() if solver.takes_networks]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @property
    def _row_checks(self):
        """dict : the checks of rows, in single precision.

        A fit by itself refuses numbers beyond it before the charge. Rows behind a step of a
        pipeline are only known after the charge, when nothing may be refused.
        """
        return {"dtype": np.float32, "order": "C", "cuts": follows_private_step()}

    def _fit_layers(self, rows, loss, n_outputs, *, factor=1.0, stages=(), enforced=(),
                    **settings):
        """Fit on validated rows with encoded targets, and set the fitted attributes.

        Predictions are multiplied by `factor` if the clip norm has its default.
        """
        norm = None if self.data_norm is None else float(self.data_norm)
        if norm is None and self.precondition == "auto":
            # Only if the user sets neither data_norm nor precondition.
            facts = Budget(rows.n_units, rows.n_features + 1, *self._budget(rows.n_units))
            factor *= few_rows_factor(facts, loss.is_likelihood)
            if self._is_short(facts) or not settings.get("maps_rows", True):
                norm = SHORT_NORM
                enforced = [*enforced, Enforced("data_norm", norm, "default", _WORDS)]
        if factor < 1.0:
            stages = [*stages, UsualTemperature(factor)]
        self._fit_network(rows, loss, n_outputs, data_norm=norm, stages=stages, enforced=enforced,
                          **settings)
        self.n_layers_, self.n_outputs_ = len(self.coefs_) + 1, n_outputs or 1
        self.data_norm_ = norm

    def _weight_dtype(self, X):
        return np.float64

    def _auto_solver(self, problem):
        return "sgd"

    def _penalty(self, unpenalized):
        return PENALTIES["l2"](alpha=float(self.alpha), l1_ratio=0.0, radius=None,
                               unpenalized=unpenalized)

    @quietly
    def _predict_raw(self, X):
        """Return raw predictions in the precision of rows, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self, "privacy_")
        X = check_prediction_rows(self, X, dtype=FLOATS)
        # Never refused, as a search predicts held-out rows after its charge.
        return self._raw_of_network(in_single(X), X.dtype, data_norm=self.data_norm_)

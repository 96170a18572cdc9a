"""What the multilayer perceptrons share: rows as they are, and layers to predict with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.validation import check_prediction_rows, check_rows
from dpsk._models import MLP
from dpsk._objective.penalties import PENALTIES
from dpsk._parameters import check_auto_flag, number, optional
from dpsk.neural_network._fit import NetworkFit

if TYPE_CHECKING:
    from typing import Any

__all__ = ["NetworkEstimator"]


class NetworkEstimator(NetworkFit):
    """Base of estimators whose raw prediction comes from fully connected layers."""

    # Gradients are clipped anyway, so that rows need no bound.
    _default_norm = None
    _row_checks: ClassVar[dict] = {"dtype": np.float32, "order": "C"}
    _whitens = True
    _constraints: ClassVar[dict] = {
        **NetworkFit._constraints,
        "data_norm": optional(number("None, or a number in [1e-10, 1e10], a bound on row norms",
                                     low=1e-10, high=1e10)),
        "precondition": partial(check_auto_flag, names=("whitening",))}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _check_rows(self, X, y):
        """Validate training rows, in single precision, and targets."""
        return check_rows(self, X, y, **self._row_checks, **self._target_checks)

    def _fit_layers(self, rows, loss, n_outputs, **settings):
        """Fit on validated rows with encoded targets; set the weights and what tells of them."""
        self._fit_network(rows, loss, n_outputs, **settings)
        self.n_layers_, self.n_outputs_ = len(self.coefs_) + 1, n_outputs or 1

    def _weight_dtype(self, X):
        return np.float64

    def _auto_solver(self, problem):
        return "sgd"

    def _penalty(self, unpenalized):
        return PENALTIES["l2"](alpha=float(self.alpha), l1_ratio=0.0, radius=None,
                               unpenalized=unpenalized)

    def _network(self, n_features, hidden, n_outputs):
        data_norm = None if self.data_norm is None else float(self.data_norm)
        return MLP(n_features, hidden, n_outputs, self.activation, data_norm)

    @quietly
    def _predict_raw(self, X):
        """Return raw predictions, float64, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self, "privacy_")
        X = check_prediction_rows(self, X, dtype=np.float32)
        return self._raw_of_network(X, np.float64)

"""Base of scorers that use either a linear score or a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.validation import FLOATS, check_prediction_rows
from dpsk._models import LinearModel
from dpsk._models.ball import RowsInBall
from dpsk._objective.penalties import CONSTRAINTS
from dpsk._parameters import norm_origin
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk.linear_model._base import LinearEstimator
from dpsk.neural_network._fit import SHORT_NORM, NetworkFit

if TYPE_CHECKING:
    from typing import Any

__all__ = ["NetworkScorer"]

#: Bound on rows without a bound, as squares of longer rows could overflow in single precision.
_LONGEST = 2.0**60


class NetworkScorer(NetworkFit, LinearEstimator):
    """Base of linear scorers that can train a network with one output instead."""

    _constraints: ClassVar[dict] = {**LinearEstimator._constraints, **NetworkFit._constraints}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn reads tags before parameters are validated.
        tags.input_tags.sparse = np.size(self.hidden_layer_sizes) == 0
        return tags

    def _check_combination(self):
        super()._check_combination()
        if not self._layer_sizes():
            return
        if self.penalty in CONSTRAINTS:
            raise ValueError(f"penalty={self.penalty!r}: a set for linear scores, as layers are "
                             "released in other coordinates; leave penalty='l2', or use "
                             "hidden_layer_sizes=().")
        if self.data_norm_inf is not None:
            raise ValueError(f"data_norm_inf={self.data_norm_inf!r}: a bound for linear scores; "
                             "leave data_norm_inf=None, or use hidden_layer_sizes=().")

    def _fit_network(self, rows, loss, **settings):
        """Set the layers and `center_`; return the rest of the solution."""
        if rows.is_sparse:
            raise ValueError("hidden_layer_sizes: a network takes dense rows and no sparse ones; "
                             "pass a dense X, or use hidden_layer_sizes=().")
        facts = Budget(rows.n_units, rows.n_features + 1, *self._budget(rows.n_units))
        norm = None if self.data_norm in ("auto", None) else float(self.data_norm)
        # Saddle solvers get no whitened rows, whose length would be known.
        if norm is None and (self._is_short(facts) or (loss.minimax and facts.is_private)):
            norm = SHORT_NORM
        self.data_norm_ = norm
        rest = super()._fit_network(rows.mapped(_ball(rows.n_features, norm)), loss, **settings)
        self.preconditioner_scales_ = self._row_map = None
        return rest

    def _mean_norm(self):
        return self.data_norm_

    def _norm_bounds(self, more=""):
        if self.data_norm_ is not None:
            yield Enforced("data_norm", self.data_norm_, norm_origin(self), "l2 norm of one row "
                           "of features; longer rows are scaled down, in training and in "
                           "prediction" + more)

    def _predict_network(self, X):
        """Return raw predictions, shape (n,), dtype of X."""
        X = check_prediction_rows(self, X, dtype=FLOATS)
        return self._raw_of_network(X, X.dtype, _ball(X.shape[1], self.data_norm_).bounded)


def _ball(n_features, data_norm):
    """Return the map that scales rows down to the norm bound, in single precision."""
    return RowsInBall(LinearModel(n_features, None, False, data_norm or _LONGEST))

"""A network in the place of a linear score."""

import numpy as np

from dpsk._data.validation import FLOATS, check_prediction_rows
from dpsk._models import MLP, LinearModel
from dpsk._objective.penalties import CONSTRAINTS
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Problem
from dpsk.linear_model._base import LinearEstimator
from dpsk.neural_network._fit import NetworkFit

__all__ = ["NetworkScorer"]


class NetworkScorer(NetworkFit, LinearEstimator):
    """Fit and prediction of a network with one raw prediction."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Tags are asked for before parameters are checked.
        tags.input_tags.sparse = np.size(self.hidden_layer_sizes) == 0
        return tags

    def _fit_network(self, X, codes, loss, *, weights=None, weight_bound=1.0,
                     free_weights=False, stages=(), public=(), released=()):
        """Set the layers and `center_`; return the rest of the solution."""
        if not isinstance(X, np.ndarray):
            raise ValueError("hidden_layer_sizes: a network takes dense rows and no sparse ones; "
                             "pass a dense X, or use hidden_layer_sizes=().")
        if self.penalty in CONSTRAINTS:
            raise ValueError(f"penalty={self.penalty!r}: a set for linear scores, as layers are "
                             "released in other coordinates; leave penalty='l2', or use "
                             "hidden_layer_sizes=().")
        if self.data_norm_inf is not None:
            raise ValueError(f"data_norm_inf={self.data_norm_inf!r}: a bound for linear scores; "
                             "leave data_norm_inf=None, or use hidden_layer_sizes=().")
        n_samples, n_features = X.shape
        epsilon, delta = self._budget(n_samples)
        model = MLP(n_features, self._layer_sizes(), None, self.activation)
        problem = Problem(n_samples=n_samples, model=model, loss=loss,
                          penalty=self._penalty(model.n_biases + loss.n_extra),
                          epsilon=epsilon, delta=delta,
                          weight_bound=np.inf if free_weights else weight_bound)
        name = self._auto_solver(problem) if self.solver == "auto" else self.solver
        rest = self._solve_network(
            problem, name, self._bounded(X), codes, weights=weights, stages=stages,
            enforced=[self._network_row_bound()], released=released,
            public=["number of rows and of features, feature names, dtype and container",
                    *public])
        self.preconditioner_ = None
        return rest

    def _network_row_bound(self):
        return Enforced("data_norm", float(self.data_norm),
                        "default" if self.data_norm == 1.0 else "declared",
                        "l2 norm of one row of features; longer rows are scaled down, in "
                        "training and in prediction")

    def _bounded(self, X):
        """Return rows scaled down to the norm bound, in single precision."""
        scale, _ = LinearModel(X.shape[1], None, False, float(self.data_norm)).row_scales(X)
        rows = np.multiply(X, scale[:, None], dtype=np.float64)
        return rows.astype(np.float32, order="C")

    def _predict_network(self, X):
        """Return raw predictions, shape (n,), dtype of X."""
        X = check_prediction_rows(self, X, dtype=FLOATS)
        hidden = tuple(len(weights) for weights in self.coefs_[1:])
        model = MLP(X.shape[1], hidden, None, self.activation)
        return self._fill_network(model, X, np.empty(len(X), X.dtype), self._bounded)

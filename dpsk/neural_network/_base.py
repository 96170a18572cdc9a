"""What the multilayer perceptrons share: from rows and parameters to a Problem, and back."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.validation import check_prediction_rows, check_rows
from dpsk._estimator import DPEstimator
from dpsk._models import MLP
from dpsk._models.mlp import ACTIVATIONS
from dpsk._objective.penalties import PENALTIES
from dpsk._parameters import check_auto_flag, check_choice, check_real
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Problem
from dpsk.neural_network._fit import NetworkFit

__all__ = ["NetworkEstimator"]


class NetworkEstimator(NetworkFit, DPEstimator):
    """Base of estimators whose raw prediction comes from fully connected layers."""

    _takes_rows_as_they_are = True

    def _check_params(self):
        self._check_privacy_params()
        check_real("alpha", self.alpha, low=0, remedy="a finite number >= 0")
        check_choice("activation", self.activation, ACTIVATIONS)
        check_auto_flag("precondition", self.precondition)
        self._layer_sizes()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _check_rows(self, X, y):
        """Validate training rows, in single precision, and targets."""
        return check_rows(self, X, y, dtype=np.float32, order="C", **self._target_checks)

    def _fit_network(self, X, y, loss, n_outputs, *, weights=None, weight_bound=1.0,
                     enforced=(), public=()):
        """Fit on validated rows and encoded targets; set the weights and `center_`.

        Parameters
        ----------
        X : ndarray of float32, shape (n, n_features)
        y : ndarray of shape (n,)
        loss : Loss
        n_outputs : int or None
        weights : ndarray of float64, shape (n,), or None
        weight_bound : float
            inf where nothing bounds the weights.
        enforced : list of Enforced
        public : list of str
        """
        n_samples, n_features = X.shape
        epsilon, delta = self._budget(n_samples)
        model = self._model(n_features, self._layer_sizes(), n_outputs)
        penalty = PENALTIES["l2"](alpha=float(self.alpha), l1_ratio=0.0, radius=None,
                                  free_rows=model.n_biases)
        problem = Problem(n_samples=n_samples, model=model, loss=loss, penalty=penalty,
                          epsilon=epsilon, delta=delta, weight_bound=weight_bound)
        self._solve_network(
            problem, "sgd" if self.solver == "auto" else self.solver, X, y, weights=weights,
            enforced=[*self._row_bounds(), *enforced],
            public=["number of rows and of features, feature names and container", *public])
        self.n_layers_ = len(self.coefs_) + 1

    def _model(self, n_features, hidden, n_outputs):
        data_norm = None if self.data_norm is None else float(self.data_norm)
        return MLP(n_features, hidden, n_outputs, self.activation, data_norm)

    def _row_bounds(self):
        """Yield the bound on a row's norm, where one was given."""
        if self.data_norm is not None:
            yield Enforced("data_norm", float(self.data_norm), "declared",
                           "l2 norm of one row of features; longer rows are scaled down, in "
                           "training and in prediction")

    @quietly
    def _predict_raw(self, X):
        """Return raw predictions, float64, shape (n,) or (n, n_outputs)."""
        check_is_fitted(self, "privacy_")
        X = check_prediction_rows(self, X, dtype=np.float32)
        sizes = [len(weights) for weights in self.coefs_] + [len(self.intercepts_[-1])]
        model = self._model(sizes[0], tuple(sizes[1:-1]), sizes[-1])
        raw = self._fill_network(model, X, np.empty((len(X), sizes[-1])))
        return raw[:, 0] if sizes[-1] == 1 else raw

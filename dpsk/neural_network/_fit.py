"""What estimators that train networks share: centred rows, and layers as they are released."""

from itertools import pairwise

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._parameters import check_layers
from dpsk._stages import Centring

__all__ = ["NetworkFit"]


class NetworkFit:
    """Mixin beside `DPEstimator` for `hidden_layer_sizes`, `precondition` and `data_norm`."""

    def _layer_sizes(self):
        """Return `hidden_layer_sizes` as a tuple of int, empty where there is no hidden layer."""
        return check_layers("hidden_layer_sizes", self.hidden_layer_sizes)

    def _solve_network(self, problem, name, X, y, *, stages=(), enforced, public, released=(),
                       **settings):
        """Set `coefs_`, `intercepts_` and `center_`; return what follows the layers in theta.

        Parameters
        ----------
        problem, name, X, y, **settings
            As for `DPEstimator._solve`.
        stages : sequence of Counting
        enforced : list of Enforced
        public, released : list of str
            Beside what is so of any network.
        """
        model = problem.model
        centring = Centring.wanted(self.precondition, problem, self.data_norm)
        theta = self._solve(
            problem, name, X, y, stages=[*centring, *stages],
            enforced=[*enforced, *(stage.stated() for stage in centring)],
            public=["all parameters, and the network's random weights at the start", *public],
            released=["coefs_", "intercepts_", *(["center_"] if centring else []), *released],
            **settings)
        self.center_ = None
        if centring:
            self.center_ = centring[0].center
            theta = model.shifted(theta, self.center_)
        self.coefs_, self.intercepts_ = model.unpacked(theta)
        return theta[model.dimension:]

    def _fill_network(self, model, X, raw, rows=lambda part: part):
        """Fill `raw` with predictions of `model`, with the fitted layers, for `rows` of X.

        Parameters
        ----------
        model : MLP
        X : ndarray of shape (n, n_features)
        raw : ndarray of shape (n,) or (n, n_outputs)
        rows : callable
            From a block of rows to the rows that the network sees.
        """
        theta = model.packed(self.coefs_, self.intercepts_)
        # Rows rounded as in training; sums in double precision do not depend on the others.
        for part in row_blocks(len(X), max(sum(pair) for pair in pairwise(model.sizes))):
            raw[part] = model.forward(theta, rows(X[part]), np.float64).raw
        return raw

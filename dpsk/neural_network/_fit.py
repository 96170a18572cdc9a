"""Base of estimators that train networks: build and solve the Problem."""

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._defaults.networks import carries_no_network
from dpsk._estimator import DPEstimator
from dpsk._models import MLP
from dpsk._models.mlp import ACTIVATIONS
from dpsk._parameters import check_layers, choice
from dpsk._problem import Problem
from dpsk._stages import Centering, NetworkWhitening, Standardizing
from dpsk._stages.network_whitening import network_whitening_pays
from dpsk._stages.weight_bound import weighed

__all__ = ["SHORT_NORM", "NetworkFit"]

#: Bound on row norms if rows are too few for a network.
SHORT_NORM = 1.0


class NetworkFit(DPEstimator):
    """Base of estimators with `hidden_layer_sizes`, `activation` and `precondition`.

    Subclasses implement `_auto_solver` and `_penalty`, as linear estimators do.
    """

    _constraints: ClassVar[dict] = {**DPEstimator._constraints,
                                    "activation": choice(*ACTIVATIONS)}

    def _layer_sizes(self):
        """Return `hidden_layer_sizes` as a tuple of int; empty without hidden layers."""
        return check_layers("hidden_layer_sizes", self.hidden_layer_sizes)

    def _mean_norm(self):
        """Return the norm bound on rows for their private mean; None without a bound."""
        return self.data_norm

    def _is_short(self, facts):
        """Return whether rows have norm 1 at most by default: too few for a network."""
        return (self.data_norm in ("auto", None) and self.precondition == "auto"
                and carries_no_network(facts))

    def _fit_network(self, rows, loss, n_outputs=None, *, data_norm=None, free_weights=False,
                     first=(), maps_rows=True, stages=(), enforced=(), public=(),
                     released=()):
        """Set the layers and the map of rows; return the part of theta after the layers.

        Stages in `first` run before rows are mapped, and may read targets. Rows are mapped only
        with `maps_rows`. Rows are float32; the
        network scales rows longer than `data_norm` down to it. With `free_weights` sample weights
        may exceed their bound; `weighed` says how they enter. `enforced`, `public` and `released`
        extend the entries that the certificate of every network has.
        """
        n_samples, n_features = rows.n_units, rows.n_features
        epsilon, delta = self._budget(n_samples)
        model = MLP(n_features, self._layer_sizes(), n_outputs, self.activation, data_norm)
        problem = Problem(n_samples=n_samples, model=model, loss=loss,
                          penalty=self._penalty(model.n_biases + loss.n_extra),
                          epsilon=epsilon, delta=delta,
                          weight_bound=rows.weight_bound)
        problem, weighing, _ = weighed(problem, free_weights and self._bounds_weights, False)
        name = self._auto_solver(problem) if self.solver == "auto" else self.solver
        whitens = maps_rows and self._whitens_rows(problem)
        if not maps_rows:
            maps = []
        elif whitens:
            problem = NetworkWhitening.prepared(problem)
            maps = NetworkWhitening.stages(problem, self._mean_norm(), rows)
            released = [*released, "center_", "linear_coef_"]
        elif self.precondition == "auto" and Standardizing.pays(problem):
            maps = [Standardizing()]
        else:
            maps = Centering.wanted(self.precondition, problem, self._mean_norm())
        theta, rest = self._solve(
            problem, name, rows, stages=[*weighing, *first, *maps, *stages],
            enforced=[*self._norm_bounds(), *self._group_bounds(rows), *enforced],
            public=["all parameters, and the network's random weights at the start",
                    f"{self._units_fact(rows)}, feature names, types of numbers and table",
                    *self._shown_facts(rows, weighing), *public],
            released=["coefs_", "intercepts_", *released])
        if whitens:
            # A center may be released in rounds before the moment gives one.
            before = [one.value for one in maps if one.attribute == "center_"]
            self.center_ = sum(before, maps[-1].center)
            self._undo_scales([one.value for one in maps if one.attribute == "feature_scales_"])
        elif not maps:
            self.center_ = None
        linear = problem.model.linear(theta)
        self.linear_coef_ = None if linear is None else linear.astype(np.float32)
        if not whitens:
            self.preconditioner_ = self.feature_scales_ = None
        self.coefs_, self.intercepts_ = problem.model.unpacked(theta)
        return rest

    def _undo_scales(self, scales):
        """Set `feature_scales_`, and center and preconditioner for the rows as they are."""
        self.feature_scales_ = scales[0] if scales else None
        if scales:
            self.center_ = (self.center_ * scales[0]).astype(np.float32)
            self.preconditioner_ = (self.preconditioner_.T / scales[0]).T.astype(np.float32)

    def _whitens_rows(self, problem):
        """Return whether the rows of this fit are whitened, from public facts."""
        # The private moment needs a delta; with delta=0 the solvers raise their own error. Saddle
        # solvers do worse on whitened rows, without a linear path.
        if not (problem.is_private and problem.delta > 0) or problem.loss.minimax:
            return False
        if self.precondition == "auto":
            return network_whitening_pays(problem)
        return self.precondition == "whitening"

    def _raw_of_network(self, X, dtype, rows=lambda part: part, data_norm=None):
        """Return raw predictions, shape (n,) or (n, n_outputs), of validated rows.

        `rows` maps a block of rows to the network's input; `data_norm` is that of the fit.
        """
        hidden = tuple(len(weights) for weights in self.coefs_[1:])
        n_outputs = len(self.intercepts_[-1])
        model = MLP(X.shape[1], hidden, n_outputs, self.activation, data_norm)
        linear = getattr(self, "linear_coef_", None)
        if linear is not None:
            model = replace(model, hidden_scale=1.0)
        theta = model.packed(self.coefs_, self.intercepts_, linear)
        raw = np.empty((len(X), n_outputs), dtype)
        # Inputs are rounded as in training; double precision keeps a prediction independent of
        # the other rows of its block.
        for part in row_blocks(len(X), max(sum(pair) for pair in pairwise(model.sizes))):
            raw[part] = model.forward(theta, rows(X[part]), np.float64).raw
        return raw[:, 0] if n_outputs == 1 else raw

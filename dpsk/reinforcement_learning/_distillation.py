"""Distillation of linear state values into a network, on public states."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

from dpsk._privacy.noise.public import public_normals

__all__ = ["distilled"]

#: Number of public states, and of optimizer steps.
_STATES, _STEPS = 3000, 300


def distilled(network, linear, theta, seed):
    """Return network parameters that approximate linear values on public states.

    `theta` are the private parameters of the linear values. `seed` determines the states and the
    initial weights.
    """
    states = _public_states(linear, seed)
    targets = linear.values(theta, states)
    middle, spread = targets.mean(), targets.std() or 1.0
    targets = (targets - middle) / spread
    start = network.initial(lambda shape: public_normals("weights", seed, shape))

    def loss(point):
        values, slope = network.weighted_gradient(point, states, lambda found: found - targets)
        return 0.5 * np.mean((values - targets)**2), slope / len(states)

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
    # `outer` is a view into `found`, which is changed in place.
    *_, outer, _ = network.parts(found)
    outer *= spread
    found[-1] = found[-1] * spread + middle
    return found


def _public_states(model, seed):
    """Return random states within the bounds, denser near the middle."""
    normals = public_normals("states", seed, (_STATES, model.n_features + 1))
    directions, reach = normals[:, :-1], ndtr(normals[:, -1:])
    if model.bounds is None:
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        return model.unit * model.data_norm * reach * directions / np.maximum(lengths, 1e-12)
    low, high = model.bounds.T
    return 0.5 * (low + high) + (high - low) * (ndtr(directions) - 0.5) * reach

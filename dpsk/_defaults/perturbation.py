"""Defaults of objective perturbation; see docs/results/auto_choice.md."""

import math

import numpy as np

from dpsk._defaults.descent import default_clip_norm
from dpsk._problem import full_clip_norm

__all__ = ["fine_tolerance", "perturbation_clip", "perturbation_ridge", "second_noise"]

#: The determinants may take up to this share of epsilon.
_MOST_DETERMINANT = 0.5
#: Share of epsilon, and of mu, for the noise that hides the error of the minimizer.
_PURE_TAIL, _TAIL = 0.01, 0.1
#: Largest norm of coefficients that the ridge is chosen for, over one divided by that of the rows.
_PLAIN_REACH, _WHITENED_REACH = 30.0, 10.0
#: Tolerance over the product of the second budget and the scale of b, for a second noise of 0.1 b.
_HIDDEN = 0.05
#: Rounding error of the mean gradient, about this many clip norms.
_FINEST = 2.0**-40


def perturbation_clip(problem, clip_norm=None):
    """Return the clip norm; with an l2 penalty, the bound that loss and rows imply, if finite."""
    full = full_clip_norm(problem)
    if clip_norm is None and problem.penalty.strong_convexity > 0 and np.isfinite(full):
        return full
    return default_clip_norm(problem, clip_norm)


def perturbation_ridge(problem, clip_norm, ridge=None):
    """Return the ridge of the objective: `ridge` or a default, and at least the necessary one."""
    fitted = _fitted_ridge(problem, clip_norm) if ridge is None else ridge
    return max(fitted, problem.penalty.strong_convexity, _least_ridge(problem))


def second_noise(problem):
    """Return the privacy budget of the second noise: an epsilon if delta is 0, else a mu."""
    if problem.delta == 0:
        return _PURE_TAIL * problem.epsilon
    return _TAIL * problem.mu


def _noise_scale(problem, clip_norm):
    """Return the approximate scale of b, and its approximate norm."""
    dimension = problem.model.dimension
    if problem.delta == 0:
        scale = 2.0 * clip_norm / problem.epsilon
        return scale, scale * dimension
    scale = 2.0 * clip_norm / problem.mu
    return scale, scale * math.sqrt(dimension)


def _least_ridge(problem):
    """Return the ridge at which determinants take their largest share of epsilon.

    It is large enough to outweigh rounding in predictions, which is d u R per unit of theta.
    """
    share = math.expm1(min(600.0, _MOST_DETERMINANT * problem.epsilon))
    resolved = (problem.model.dimension + 8.0) * 2.0**-43
    return problem.smoothness * max(1.0 / (problem.n_samples * share), resolved)


def _fitted_ridge(problem, clip_norm):
    """Return the ridge that limits the norm of coefficients under the pull of b.

    Where the pull is not small relative to the clip norm, the limit is lower, so that noise never
    costs much more than zero coefficients would. A penalty lowers the limit too: coefficients
    whose penalty exceeds the loss at zero are no better than zero.
    """
    radius, alpha = problem.model.radius, problem.penalty.strong_convexity
    reach = (_PLAIN_REACH if problem.geometry is None else _WHITENED_REACH) / radius
    if alpha > 0:
        reach = min(reach, 0.5 * math.sqrt(clip_norm / (radius * alpha)))
    pull = _noise_scale(problem, clip_norm)[1] / problem.n_samples
    return pull * (1.0 / reach + pull * radius / clip_norm)


def fine_tolerance(problem, clip_norm, ridge):
    """Return the tolerance at which the second noise is a tenth of b.

    This holds for a loss of the largest curvature that is equal in all directions.
    """
    curved = 1.0 + problem.smoothness / (problem.model.dimension * ridge)
    scale = _noise_scale(problem, clip_norm)[0] / problem.n_samples
    finest = max(_FINEST, problem.n_samples * 2.0**-53) * clip_norm
    return max(_HIDDEN * second_noise(problem) * scale / curved, finest)

"""Ridge, clip and tolerance of objective perturbation, measured on docs/results/auto_choice.md."""

import math

import numpy as np

from dpsk._defaults.descent import default_clip_norm
from dpsk._problem import full_clip_norm

__all__ = ["fine_tolerance", "perturbation_clip", "perturbation_ridge", "second_noise"]

#: The determinants may take up to this share of epsilon.
_MOST_DETERMINANT = 0.5
#: Share of epsilon, and of mu, for the noise that hides how the exact minimizer was missed.
_PURE_TAIL, _TAIL = 0.01, 0.1
#: Norms of coefficients that the ridge is fitted to, over that of the rows.
_PLAIN_REACH, _WHITENED_REACH = 30.0, 10.0
#: Where the ridge has the curvature of the loss times this, the second noise is a tenth.
_HIDDEN = 0.05
#: Rounding leaves the mean of gradients about so many clip norms of error.
_FINEST = 2.0**-40


def perturbation_clip(problem, clip_norm=None):
    """Return the clip norm: with a ridge the bound of loss and rows, where they imply one."""
    full = full_clip_norm(problem)
    if clip_norm is None and problem.penalty.strong_convexity > 0 and np.isfinite(full):
        return full
    return default_clip_norm(problem, clip_norm)


def perturbation_ridge(problem, clip_norm, ridge=None):
    """Return the ridge that is minimized: `ridge`, or a fitted one, or more where it must be."""
    fitted = _fitted_ridge(problem, clip_norm) if ridge is None else ridge
    return max(fitted, problem.penalty.strong_convexity, _least_ridge(problem))


def second_noise(problem):
    """Return the price of the second noise."""
    if problem.delta == 0:
        return _PURE_TAIL * problem.epsilon
    return _TAIL * problem.mu


def _noise_scale(problem, clip_norm):
    """Return about the scale of b, and the length that b has."""
    dimension = problem.model.dimension
    if problem.delta == 0:
        scale = 2.0 * clip_norm / problem.epsilon
        return scale, scale * dimension
    scale = 2.0 * clip_norm / problem.mu
    return scale, scale * math.sqrt(dimension)


def _least_ridge(problem):
    """Return the ridge at which determinants take their largest share of epsilon.

    It is no less than what rounding in predictions, d u R a unit of theta, cannot outweigh.
    """
    share = math.expm1(min(600.0, _MOST_DETERMINANT * problem.epsilon))
    resolved = (problem.model.dimension + 8.0) * 2.0**-43
    return problem.smoothness * max(1.0 / (problem.n_samples * share), resolved)


def _fitted_ridge(problem, clip_norm):
    """Return the ridge that holds coefficients to a reach against the pull of b.

    Where the pull is not small beside the clip norm the reach is shorter, so that noise never
    costs much more than coefficients of zero would. A penalty shortens it too: what it allows
    is worth no more than the loss at zero.
    """
    radius, alpha = problem.model.radius, problem.penalty.strong_convexity
    reach = (_PLAIN_REACH if problem.geometry is None else _WHITENED_REACH) / radius
    if alpha > 0:
        reach = min(reach, 0.5 * math.sqrt(clip_norm / (radius * alpha)))
    pull = _noise_scale(problem, clip_norm)[1] / problem.n_samples
    return pull * (1.0 / reach + pull * radius / clip_norm)


def fine_tolerance(problem, clip_norm, ridge):
    """Return a tolerance whose noise is a tenth of that of b where the loss is as curved as
    it can be in all directions alike."""
    curved = 1.0 + problem.smoothness / (problem.model.dimension * ridge)
    scale = _noise_scale(problem, clip_norm)[0] / problem.n_samples
    finest = max(_FINEST, problem.n_samples * 2.0**-53) * clip_norm
    return max(_HIDDEN * second_noise(problem) * scale / curved, finest)

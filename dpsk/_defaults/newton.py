"""Clip norms and steps of Newton's method; see docs/theory/newton.md."""

import math

import numpy as np

from dpsk._defaults.descent import default_clip_norm, slope_bound
from dpsk._defaults.losses import loss_defaults
from dpsk._models.clipping import HEADROOM
from dpsk._problem import full_clip_norm

__all__ = ["HESSIAN_SHARE", "curvature_clip", "first_step", "hessians_are_sharp", "longest_step",
           "newton_clip_norm", "newton_steps"]

#: Share of mu^2 of all Hessians.
HESSIAN_SHARE = 0.2
_STEPS = 6, 8
#: From this signal on, each doubling adds a step.
_PLENTY = 500.0
#: Fewest and most steps with accurate Hessians, and the number of doublings that add a step.
_SHARP_STEPS, _DOUBLINGS = (7, 12), 2.0
#: Least signals of accurate Hessians, whose noise is far below usual eigenvalues. The second is
#: multiplied by the square root of the number of columns. From the first on, a fit without narrow
#: clips makes decisions no worse.
_SHARP_SIGNAL, _HESSIAN_SIGNAL = 1500.0, 60.0
#: Bound on a row's curvature, over the largest of a usual row.
_CURVATURE_REACH = 4.0
#: Largest change of the scores of usual rows in one step.
_MOST_CHANGE = 2.0


def newton_steps(problem):
    """Return the number of gradients: more where noise is small against optimization error."""
    if hessians_are_sharp(problem):
        fewest, most = _SHARP_STEPS
        more = int(math.log2(problem.signal_to_noise / _SHARP_SIGNAL) / _DOUBLINGS)
    else:
        fewest, most = _STEPS
        more = round(math.log2(problem.signal_to_noise / _PLENTY))
    return int(np.clip(fewest + more, fewest, most))


def hessians_are_sharp(problem):
    """Return whether the signal makes Hessians accurate enough for more than one step."""
    columns = problem.model.shape[0]
    return problem.signal_to_noise >= max(_SHARP_SIGNAL, _HESSIAN_SIGNAL * math.sqrt(columns))


def first_step(problem):
    """Return the inverse curvature at the start, for rows that vary equally in all directions."""
    curvature = problem.loss.smoothness * problem.usual_weight * _mean_square(problem)
    if problem.geometry is not None:
        # For one step, half of the largest curvature suffices.
        curvature *= max(1.0, 0.5 * problem.geometry.unevenness)
    return 1.0 / curvature


def longest_step(problem):
    """Return the length of steps that change scores of usual rows by the most allowed."""
    return _MOST_CHANGE / math.sqrt(_mean_square(problem))


def newton_clip_norm(problem, clip_norm):
    """Return `clip_norm`, or the larger of the slope of usual rows and the default of descent.

    It is at most the bound that the loss implies.
    """
    by_descent = default_clip_norm(problem, clip_norm)
    if clip_norm is not None or loss_defaults(problem.loss).of_residuals:
        return by_descent
    usual = slope_bound(problem) * _usual_norm(problem) / HEADROOM
    return min(max(by_descent, usual), full_clip_norm(problem))


def curvature_clip(problem, bound):
    """Return the bound on a row's curvature: `bound`, or one that widens like the clip norm.

    It is at most the bound that the loss implies.
    """
    if bound is None:
        widening = newton_clip_norm(problem, None) / (slope_bound(problem) * _usual_norm(problem))
        usual = problem.loss.smoothness * problem.usual_weight * _usual_norm(problem)**2
        bound = _CURVATURE_REACH * usual * max(1.0, widening)**2
    return min(bound, problem.smoothness)


def _usual_norm(problem):
    return problem.model.radius if problem.geometry is None else problem.geometry.usual_norm


def _mean_square(problem):
    """Return the mean square of rows in an ordinary direction."""
    if problem.geometry is not None:
        return 1.0 / problem.geometry.effective_rank
    return problem.model.radius**2 / problem.model.dimension

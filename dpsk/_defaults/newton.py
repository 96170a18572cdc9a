"""Clips and steps of Newton's method; see docs/theory/newton.md."""

import math

import numpy as np

from dpsk._defaults.descent import default_clip_norm, slope_bound
from dpsk._defaults.losses import loss_defaults
from dpsk._models.clipping import HEADROOM
from dpsk._problem import full_clip_norm

__all__ = ["HESSIAN_SHARE", "curvature_clip", "first_step", "hessians_are_sharp", "longest_step",
           "newton_clip_norm", "newton_steps"]

#: Of mu^2, for all Hessians.
HESSIAN_SHARE = 0.2
_STEPS = 6, 8
#: The signal from which on there are more steps, one each time that it doubles.
_PLENTY = 500.0
#: The same of sharp Hessians, and how often it is to double.
_SHARP_STEPS, _DOUBLINGS = (7, 12), 2.0
#: Of a sharp Hessian the edge of the noise is far below usual eigenvalues: its signal over that
#: of a gradient is the root of the number of columns. From the first number on a fit without
#: narrow clips is no worse at decisions either.
_SHARP_SIGNAL, _HESSIAN_SIGNAL = 1500.0, 60.0
#: The bound on a row's curvature over what that of a usual row may be.
_CURVATURE_REACH = 4.0
#: Scores of usual rows change by no more in a step.
_MOST_CHANGE = 2.0


def newton_steps(problem):
    """Return the number of gradients: more where what is left of the way shows beside noise."""
    if hessians_are_sharp(problem):
        fewest, most = _SHARP_STEPS
        more = int(math.log2(problem.signal_to_noise / _SHARP_SIGNAL) / _DOUBLINGS)
    else:
        fewest, most = _STEPS
        more = round(math.log2(problem.signal_to_noise / _PLENTY))
    return int(np.clip(fewest + more, fewest, most))


def hessians_are_sharp(problem):
    """Return whether there is signal for Hessians to be good for more than a step."""
    columns = problem.model.shape[0]
    return problem.signal_to_noise >= max(_SHARP_SIGNAL, _HESSIAN_SIGNAL * math.sqrt(columns))


def first_step(problem):
    """Return the inverse curvature at the start, of rows that vary alike."""
    curvature = problem.loss.smoothness * problem.usual_weight * _mean_square(problem)
    if problem.geometry is not None:
        # Half of the largest curvature does for a step.
        curvature *= max(1.0, 0.5 * problem.geometry.unevenness)
    return 1.0 / curvature


def longest_step(problem):
    """Return the length of steps that change scores of usual rows by as much as they may."""
    return _MOST_CHANGE / math.sqrt(_mean_square(problem))


def newton_clip_norm(problem, clip_norm):
    """Return the clip norm: `clip_norm`, or that of usual rows, or the one of descent if wider.

    It is what the loss implies at most.
    """
    by_descent = default_clip_norm(problem, clip_norm)
    if clip_norm is not None or loss_defaults(problem.loss).of_residuals:
        return by_descent
    usual = slope_bound(problem) * _usual_norm(problem) / HEADROOM
    return min(max(by_descent, usual), full_clip_norm(problem))


def curvature_clip(problem, bound):
    """Return the bound on a row's curvature: `bound`, or what widens as the clip of gradients.

    It is what the loss implies at most.
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

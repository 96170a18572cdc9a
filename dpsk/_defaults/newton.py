"""Clips and steps of Newton's method; measured on docs/results/newton.md."""

import math

from dpsk._defaults.descent import default_clip_norm, slope_bound
from dpsk._defaults.losses import loss_defaults
from dpsk._models.clipping import HEADROOM
from dpsk._problem import full_clip_norm

__all__ = ["curvature_clip", "first_step", "hessian_share", "longest_step", "newton_clip_norm",
           "newton_steps"]

_STEPS, _HESSIAN_SHARE = 6, 0.2
#: The bound on a row's curvature over what that of a usual row may be.
_CURVATURE_REACH = 4.0
#: Scores of usual rows change by no more in a step.
_MOST_CHANGE = 2.0


def newton_steps():
    """Return the number of gradients."""
    return _STEPS


def hessian_share():
    """Return the share of mu^2 for all Hessians."""
    return _HESSIAN_SHARE


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
    """Return the clip norm: `clip_norm` or that of usual rows, and what the loss implies at most.

    Residuals have any size; theirs is that of descent.
    """
    if clip_norm is not None or loss_defaults(problem.loss).of_residuals:
        return default_clip_norm(problem, clip_norm)
    return min(slope_bound(problem) * _usual_norm(problem) / HEADROOM, full_clip_norm(problem))


def curvature_clip(problem, bound):
    """Return the bound on a row's curvature: `bound` or a rule, and what the loss implies at most.
    """
    usual = problem.loss.smoothness * problem.usual_weight * _usual_norm(problem)**2
    wanted = _CURVATURE_REACH * usual if bound is None else bound
    return min(wanted, problem.smoothness)


def _usual_norm(problem):
    return problem.model.radius if problem.geometry is None else problem.geometry.usual_norm


def _mean_square(problem):
    """Return the mean square of rows in an ordinary direction."""
    if problem.geometry is not None:
        return 1.0 / problem.geometry.effective_rank
    return problem.model.radius**2 / problem.model.dimension

"""Numbers of Newton's method."""

from dpsk._defaults.descent import slope_bound
from dpsk._defaults.losses import loss_defaults
from dpsk._models.clipping import HEADROOM
from dpsk._problem import full_clip_norm

S = dict(steps=8, share=.2, clip=1.0, curv=4.0)


def newton_steps(problem):
    return S["steps"]


def newton_shares(problem):
    return S["share"]


def _usual(problem):
    return 1.0 if problem.geometry is None else problem.geometry.usual_norm


def newton_clip_norm(problem, clip_norm):
    full = full_clip_norm(problem)
    if clip_norm is not None:
        return min(clip_norm, full)
    usual = problem.model.radius if problem.geometry is None else problem.geometry.usual_norm
    return min(full, S["clip"] * slope_bound(problem) * usual / HEADROOM)


def newton_curvature(problem, curvature_clip):
    full = problem.smoothness
    if curvature_clip is not None:
        return min(curvature_clip, full)
    usual = problem.model.radius if problem.geometry is None else problem.geometry.usual_norm
    return min(full, S["curv"] * problem.loss.smoothness * problem.usual_weight * usual**2)

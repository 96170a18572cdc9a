"""The loop that full-batch and stochastic gradient descent share, and its defaults."""

import numpy as np

from dpsk._solvers.base import Result, full_clip_norm
from dpsk._utils.parameters import check_choice

__all__ = ["ITERATES", "check_iterate", "default_clip_norm", "default_step", "descend"]

#: Which share of the iterates, counted from the end, is averaged; "random" returns one.
ITERATES = {"average": 1.0, "last": 0.0, "random": None, "tail": 0.25}


def check_iterate(iterate):
    """Raise a ValueError unless `iterate` is one of ITERATES."""
    check_choice("solver_options: iterate", iterate, ITERATES)


def default_clip_norm(problem, clip_norm):
    """Return the clip norm: half the loss's own bound, or that bound where inf was given."""
    full = full_clip_norm(problem)
    if clip_norm is None:
        return 0.5 * full if np.isfinite(full) else problem.model.radius
    return min(clip_norm, full)


def default_step(problem, clip_norm):
    """Return the step: the inverse smoothness, or four times that where gradients are clipped.

    Clipping at half the bound flattens the loss of every row that is far from fitted, so the
    curvature that is met is well below its supremum.
    """
    smoothness, ridge = problem.smoothness, problem.penalty.smoothness
    if clip_norm < full_clip_norm(problem):
        smoothness /= 4.0
    return 1.0 / (smoothness + ridge)


def descend(oracle, penalty, theta, *, step, n_steps, iterate, momentum):
    """Take noisy proximal gradient steps.

    Parameters
    ----------
    oracle : GradientOracle
    penalty : Penalty
    theta : ndarray
        Public start.
    step : float
    n_steps : int
    iterate : {"average", "last", "random", "tail"}
    momentum : callable
        The momentum after step ``t = 0, 1, ...``; 0.0 for none.

    Returns
    -------
    result : Result
    """
    share = ITERATES[iterate]
    # The returned index is drawn before anything is asked; later steps are then not needed.
    stop = n_steps if share is not None else 1 + oracle.public_index(n_steps)
    first_kept = min(stop - 1, int(np.ceil(stop * (1.0 - (share or 0.0)))))
    point, kept = theta, np.zeros_like(theta)
    for t in range(stop):
        gradient = oracle.gradient(point)
        gradient += penalty.gradient(point)
        gradient *= -step
        gradient += point
        following = penalty.prox(gradient, step)
        factor = momentum(t)
        point = following + factor * (following - theta) if factor else following
        theta = following
        if t >= first_kept:
            kept += theta
    return Result(kept / (stop - first_kept), n_steps)

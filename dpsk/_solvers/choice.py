"""What solver="auto" stands for: a function of public facts."""

import numpy as np

from dpsk._privacy import gdp

__all__ = ["auto_solver", "ridge_outweighs_noise", "signal"]


def auto_solver(problem):
    """Return the name of the solver whose predicted excess risk is least.

    Parameters
    ----------
    problem : Problem
        With the penalty on all coordinates, intercept included.

    Returns
    -------
    name : str

    Notes
    -----
    Write ``S = n mu / sqrt(d)``, L for the bound on a row's gradient. The last of many noisy
    iterates has noise risk ``2 L^2 / (alpha S^2)``: the stationary variance of T_eff-priced
    steps. Releasing every gradient of an accelerated descent that stops early costs about
    ``2 L / S``, bias included (measured). The former is less where ``alpha S > L``.
    """
    if problem.delta == 0:
        return "output_perturbation" if problem.loss.convex else "stgd"
    penalty = problem.penalty
    ridge = penalty.is_smooth and penalty.strong_convexity > 0
    if not ridge or not problem.loss.convex or not np.isfinite(problem.lipschitz):
        return "gd"
    return "last_iterate" if ridge_outweighs_noise(problem) else "gd"


def ridge_outweighs_noise(problem):
    """Return whether ``alpha S > L``, with which the last iterate alone is the better release."""
    return problem.penalty.strong_convexity * signal(problem) > problem.lipschitz


def signal(problem):
    """Return ``S = n mu / sqrt(d)``, the size of a mean over that of its noise."""
    mu = gdp.mu(problem.epsilon, problem.delta)
    return problem.n_samples * mu / np.sqrt(problem.model.dimension)

"""Predicted excess risks of solvers, functions of public facts."""

import math

import numpy as np

from dpsk._defaults.perturbation import perturbation_clip, perturbation_ridge
from dpsk._problem import full_clip_norm

__all__ = ["RISKS", "ridge_outweighs_noise", "signal"]

#: Curvature of the mean loss in an ordinary direction over ``beta / d``.
_SPREAD = 0.5
#: The most that a stronger ridge costs, in slopes: coefficients of zero are not far worse.
_MOST_BIAS = 0.2


def signal(problem):
    """Return S, the size of a mean over that of its noise."""
    n_samples, dimension = problem.n_samples, problem.model.dimension
    if problem.delta == 0:
        return n_samples * problem.epsilon / dimension
    return n_samples * problem.mu / math.sqrt(dimension)


def ridge_outweighs_noise(problem):
    """Return whether ``alpha S > L``, with which the last iterate alone is a good release."""
    return problem.penalty.strong_convexity * signal(problem) > problem.lipschitz


def _bounds_slope(problem):
    return np.isfinite(problem.lipschitz) and np.isfinite(problem.smoothness)


def _ridge(problem):
    """Return the curvature of an l2 penalty, 0 for any other and where there is none."""
    return problem.penalty.strong_convexity if problem.penalty.is_smooth else 0.0


def _slope(problem):
    """Return what stands for L where the loss itself bounds no gradient."""
    return problem.lipschitz if np.isfinite(problem.lipschitz) else problem.model.radius


def _ordinary_curvature(problem):
    return _SPREAD * problem.smoothness / problem.model.dimension


def gd_risk(problem):
    """Noise of steps that stop early, or that a ridge forgets, and the bias of clipping."""
    if problem.delta == 0:
        return math.inf
    alpha = _ridge(problem)
    slope, noise = _slope(problem), _slope(problem) / signal(problem)
    if alpha == 0:
        return 3.0 * noise
    # Clipped gradients are shorter but the stationary point is another.
    bias = 0.03 * slope * min(1.0, 0.05 * problem.smoothness / (0.25 * alpha))
    return min(3.0 * noise, 0.9 * noise**2 / alpha) + bias


def last_iterate_risk(problem):
    """The stationary variance of steps priced at what they do not forget."""
    alpha = _ridge(problem)
    if alpha == 0 or problem.delta == 0 or not _bounds_slope(problem):
        return math.inf
    return 2.0 * (problem.lipschitz / signal(problem)) ** 2 / alpha


def output_perturbation_risk(problem):
    """Noise on the minimizer; without a ridge nothing else helps at delta = 0."""
    if not _bounds_slope(problem):
        return math.inf
    alpha, noise = _ridge(problem), 2.0 * problem.lipschitz / signal(problem)
    if alpha == 0:
        # Only where no other solver runs; the risk is then what it is.
        return 1e300 if problem.delta == 0 else math.inf
    return 0.5 * (alpha + _ordinary_curvature(problem)) * (noise / alpha) ** 2


def objective_perturbation_risk(problem):
    """Noise of the minimizer's linear term, and the bias of the ridge that answers it."""
    penalty = problem.penalty
    plain = penalty.is_smooth and penalty.smoothness == penalty.strong_convexity
    # Without a penalty noisy gradients may whiten the rows, which is better.
    unpenalized = problem.delta > 0 and penalty.strong_convexity == 0
    if not plain or unpenalized or problem.loss.vector_output or \
            not np.isfinite(problem.smoothness):
        return math.inf
    clip_norm = perturbation_clip(problem)
    ridge = perturbation_ridge(problem, clip_norm)
    alpha, curvature = _ridge(problem), _ordinary_curvature(problem)
    noise = 2.0 * min(clip_norm, full_clip_norm(problem)) / signal(problem)
    # The minimizer is no Gaussian mechanism: its loss is bounded at a price.
    price = 1.5 if problem.delta > 0 else 1.2
    variance = price * (noise / (ridge + curvature)) ** 2
    slope = _slope(problem) / problem.model.radius
    reach = min(30.0 / problem.model.radius, 0.5 * math.sqrt(slope / max(alpha, 1e-300)))
    bias = min(0.5 * (ridge - alpha) * reach**2, _MOST_BIAS * slope)
    return 0.5 * (alpha + curvature) * variance + bias


#: Predicted excess risk by solver, a function of public facts; infinite where it does not run.
RISKS = {
    "gd": gd_risk,
    "last_iterate": last_iterate_risk,
    "output_perturbation": output_perturbation_risk,
    "objective_perturbation": objective_perturbation_risk,
}

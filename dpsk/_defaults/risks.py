"""Predicted excess risks of solvers, as functions of public facts."""

import math

import numpy as np

from dpsk._defaults.budgets import AMPLE_SIGNAL, whitening_pays
from dpsk._defaults.newton import hessians_are_sharp
from dpsk._defaults.perturbation import perturbation_clip, perturbation_ridge
from dpsk._problem import full_clip_norm

__all__ = ["FORGOTTEN", "MOST_LAST_STEPS", "RISKS", "RISK_FACTOR", "USUAL_SPREAD", "fit_risk",
           "ridge_outweighs_noise", "signal"]

#: Curvature of the mean loss in an ordinary direction over ``beta / d``.
_SPREAD = 0.5
#: The last iterate is released when the start has this share in it, or after so many steps.
FORGOTTEN, MOST_LAST_STEPS = 1e-3, 2000
#: Risk of the remaining share of the start, over the risk at zero.
_REMEMBERED = 0.3
#: Variance of descent on whitened rows, over that of one noisy gradient at the minimizer.
_WHITENED = 7.0
#: The same for Newton's method.
_NEWTON = 3.0
#: With more columns, Hessians take too much time.
_MOST_HESSIAN = 400
#: Clip norm of descent over the slope, where the signal is not ample.
_NARROW = 0.3
#: Norm of a usual row over that of the longest.
_USUAL_ROW = 1.0 / 3.0
#: Largest cost of a stronger ridge, in slopes: coefficients of zero are not far worse.
_MOST_BIAS = 0.2
#: Risk of a whole fit at its defaults by loss: from noise and from the regularization against it,
#: times the signal S; and from narrow clips and few steps, times the root of S. Chosen on the
#: tables of Adult and Credit, and for squares on Bike (`benchmarks/utility/plans.py`). Measured
#: risks lie mostly between the prediction over and times the factor.
_FIT_RISKS = {"Logistic": (3.0, 0.15), "HuberizedHinge": (0.0, 0.26), "Squared": (0.19, 0.0)}
RISK_FACTOR = 2.0
#: Usual standard deviation of targets, over half the width of their bounds.
USUAL_SPREAD = 0.25


def signal(problem):
    """Return the signal-to-noise ratio S of a mean."""
    n_samples, dimension = problem.n_samples, problem.model.dimension
    if problem.delta == 0:
        return n_samples * problem.epsilon / dimension
    return n_samples * problem.mu / math.sqrt(dimension)


def ridge_outweighs_noise(problem):
    """Return whether ``alpha S > L``, so that the last iterate alone is accurate enough."""
    return problem.penalty.strong_convexity * signal(problem) > problem.lipschitz


def fit_risk(problem):
    """Return the excess risk of a fit without penalty at its defaults, on mapped rows.

    The first term falls as ``1 / S``, the rate of private convex optimization. The second falls
    as the root of that, because clips widen and steps grow in number more slowly.
    """
    noise, bias = _FIT_RISKS[type(problem.loss).__name__]
    size = signal(problem)
    return noise / size + bias / math.sqrt(size)


def _bounds_slope(problem):
    return np.isfinite(problem.lipschitz) and np.isfinite(problem.smoothness)


def _ridge(problem):
    """Return the curvature of an l2 penalty; 0 for any other penalty or none."""
    return problem.penalty.strong_convexity if problem.penalty.is_smooth else 0.0


def _slope(problem):
    """Return L, or the radius of the rows if the loss does not bound gradients."""
    return problem.lipschitz if np.isfinite(problem.lipschitz) else problem.model.radius


def _usual_slope(problem):
    """Return the slope for rows of usual length, whatever their bound."""
    return _slope(problem) * min(1.0, math.sqrt(2.0) / problem.model.radius)


def _whitened_noise(problem):
    """Return the excess risk from one noisy gradient at the minimizer, on whitened rows."""
    curvature = problem.loss.smoothness * problem.usual_weight / problem.model.dimension
    return (_usual_slope(problem) / signal(problem))**2 / curvature


def _ordinary_curvature(problem):
    return _SPREAD * problem.smoothness / problem.model.dimension


def gd_risk(problem):
    """Return the risk of gradient descent: noise and clipping bias.

    Early stopping or a ridge limits the noise. Whitened rows are as long as usual ones.
    """
    if problem.delta == 0:
        return math.inf
    alpha, size = _ridge(problem), signal(problem)
    whitens = whitening_pays(problem)
    relative = _usual_slope(problem) if whitens else _slope(problem)
    if alpha == 0:
        return 3.0 * relative / size
    noise = min(3.0 * relative / size, 0.9 * (_slope(problem) / size)**2 / alpha)
    if whitens:
        noise = min(noise, _WHITENED * _whitened_noise(problem))
    # Clipping shortens gradients but moves the stationary point.
    bias = 0.03 * relative * min(1.0, 0.05 * problem.smoothness / (0.25 * alpha))
    return noise + _clipped(problem) * bias


def _clipped(problem):
    """Return the remaining effect of a clip that widens with the signal; 1 where it is narrow."""
    widening = math.sqrt(max(1.0, problem.signal_to_noise / AMPLE_SIGNAL))
    return max(0.0, 1.0 - _NARROW * widening) / (1.0 - _NARROW)


def newton_risk(problem):
    """Return the risk of Newton's method: noise of the last step, if Hessians are accurate."""
    loss, columns = problem.loss, problem.model.shape[0]
    if loss.vector_output or not (loss.is_likelihood and _bounds_slope(problem)):
        return math.inf
    if not whitening_pays(problem) or columns > _MOST_HESSIAN:
        return math.inf
    if not hessians_are_sharp(problem):
        return math.inf
    return _NEWTON * _whitened_noise(problem)


def last_iterate_risk(problem):
    """Return the risk of the last iterate: stationary variance, and bias from the start."""
    alpha = _ridge(problem)
    if alpha == 0 or problem.delta == 0 or not _bounds_slope(problem):
        return math.inf
    left = math.exp(-2.0 * MOST_LAST_STEPS * alpha / (problem.smoothness + 2.0 * alpha))
    bias = _REMEMBERED * problem.risk_at_zero * max(0.0, left - FORGOTTEN**2)
    return 2.0 * (problem.lipschitz / signal(problem)) ** 2 / alpha + bias


def output_perturbation_risk(problem):
    """Return the risk of output perturbation: noise on the minimizer.

    Without a ridge it is the last resort at delta = 0.
    """
    if not _bounds_slope(problem):
        return math.inf
    alpha, noise = _ridge(problem), 2.0 * problem.lipschitz / signal(problem)
    if alpha == 0:
        # A huge finite risk: chosen only where no other solver runs.
        return 1e300 if problem.delta == 0 else math.inf
    return 0.5 * (alpha + _ordinary_curvature(problem)) * (noise / alpha) ** 2


def objective_perturbation_risk(problem):
    """Return the risk of objective perturbation: noise, and bias of the ridge against it."""
    penalty = problem.penalty
    plain = penalty.is_smooth and penalty.smoothness == penalty.strong_convexity
    # Without a penalty, noisy gradients on whitened rows are better.
    unpenalized = problem.delta > 0 and penalty.strong_convexity == 0
    if not plain or unpenalized or problem.loss.vector_output or \
            not np.isfinite(problem.smoothness):
        return math.inf
    clip_norm = perturbation_clip(problem)
    ridge = perturbation_ridge(problem, clip_norm)
    alpha, curvature = _ridge(problem), _ordinary_curvature(problem)
    if problem.model.radius > math.sqrt(2.0):
        # A bound other than that of unit rows is usually the norm of the longest row.
        curvature *= _USUAL_ROW**2
    noise = 2.0 * min(clip_norm, full_clip_norm(problem)) / signal(problem)
    # The minimizer is not a Gaussian mechanism; its privacy proof costs a factor.
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
    "newton": newton_risk,
    "output_perturbation": output_perturbation_risk,
    "objective_perturbation": objective_perturbation_risk,
}

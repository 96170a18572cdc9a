"""The minimiser of an objective with a random linear term."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpsk._oracle import ObjectiveOracle, PerturbedObjective, determinant_loss
from dpsk._privacy import gdp
from dpsk._privacy.certificate import Enforced
from dpsk._solvers.base import Result, Solver, full_clip_norm
from dpsk._solvers.descent import default_clip_norm
from dpsk._utils.parameters import check_real

__all__ = ["ObjectivePerturbation"]

#: The determinants may take up to this share of epsilon.
_MOST_DETERMINANT = 0.5
#: Share of epsilon, and of mu, for the noise that hides how the exact minimiser was missed.
_PURE_TAIL, _TAIL = 0.01, 0.1
#: Norms of coefficients that the ridge is fitted to, over that of the rows.
_PLAIN_REACH, _WHITENED_REACH = 30.0, 10.0
#: Where the ridge has the curvature of the loss times this, the second noise is a tenth.
_HIDDEN = 0.05
#: Rounding leaves the mean of gradients about so many clip norms of error.
_FINEST = 2.0**-40


@dataclass(frozen=True)
class ObjectivePerturbation(Solver):
    r"""The minimiser of ``sum_i l_i(theta) + (lam / 2) ||theta||^2 + <b, theta>``, b noise.

    For two data sets that differ in a row the minimiser's densities differ by a shift of b of at
    most ``2 C`` and by determinants whose ratio is at most ``1 + beta / lam``. Noise in the
    objective is shrunk where the loss is curved, which noise on the result is not.

    A point of certified gradient norm is found and gets a second noise, of ``mu / 10`` or
    ``epsilon / 100``, which hides how the exact minimiser was missed.

    Privacy: two releases. ``delta = 0``: b of density proportional to ``exp(-||b|| / s)``,
    ``Pure(2 C / s + log(1 + beta / lam))``, and another ``Pure``. ``delta > 0``: b normal of
    standard deviation s, ``Dominated(log(1 + beta / lam) + c^2 / 2, c)``, ``c = 2 C / s``, and a
    ``Gaussian``. The penalty includes the intercept; predictions must be scalar.

    Parameters
    ----------
    clip_norm : float or None
        C. None: with alpha > 0 the bound that loss and row norms imply, else, or where they
        imply none, see `default_clip_norm`.
    ridge : float or None
        Least curvature of the l2 term beside the mean loss, ``lam / n``. It is alpha where that
        is more, and raised to ``beta / (n (e^(epsilon / 2) - 1))``, below which determinants
        would take more than half of epsilon, or to what rounding asks for; the certificate
        states it. None: with
        ``p = ||b|| / n``, the pull of b, and R the norm of the rows, ``p (1 / B + p R / C)``:
        coefficients then reach the norm B, which is ``30 / R`` (10 for whitened rows) or
        ``sqrt(C / (4 R alpha))``, and less under noise that outweighs rows; 0: no more than
        needed.
    tolerance : float or None
        Norm of the gradient of the mean objective to certify, or a bound on the rounding in it
        where that is more. None: such that the second noise moves the risk by far less than
        the first.

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate (2011), Algorithm 2; Kifer, Smith, Thakurta (2012); Iyengar
    et al. (2019), Algorithm 1 (approximate minima), with bounds for a replaced row.
    """

    clip_norm: float | None = None
    ridge: float | None = None
    tolerance: float | None = None

    oracle: ClassVar[type] = ObjectiveOracle
    requires: ClassVar[tuple] = ("finite clip", "loss.smoothness", "convex loss",
                                 "scalar prediction", "l2 penalty")
    penalizes_intercept: ClassVar[bool] = True
    ignores: ClassVar[tuple] = ("batch_size", "max_iter", "learning_rate")

    def configured(self, problem):
        if self.ridge is not None:
            check_real("solver_options: ridge", self.ridge, low=0,
                       remedy="None, or a finite number >= 0")
        if self.tolerance is not None:
            check_real("solver_options: tolerance", self.tolerance, low=0, open_low=True,
                       remedy="None, or a finite number > 0")
        clip_norm = self._clip(problem)
        ridge = _fitted_ridge(problem, clip_norm) if self.ridge is None else self.ridge
        ridge = max(ridge, problem.penalty.strong_convexity, _least_ridge(problem))
        tolerance = self.tolerance
        if tolerance is None:
            tolerance = _fine_tolerance(problem, clip_norm, ridge)
        return replace(self, clip_norm=clip_norm, ridge=ridge, tolerance=tolerance)

    def _clip(self, problem):
        full = full_clip_norm(problem)
        asked = self.clip_norm is None and problem.penalty.strong_convexity > 0
        if asked and np.isfinite(full):
            return full
        return default_clip_norm(problem, self.clip_norm)

    def plan(self, problem):
        determinant = determinant_loss(problem.smoothness, self.ridge, problem.n_samples)
        return PerturbedObjective(problem.delta == 0, self.ridge, determinant, _tail(problem),
                                  self.tolerance)

    def minimize(self, oracle, penalty, theta):
        return Result(oracle.minimise(theta, penalty), 1)

    def stated(self):
        return [Enforced("ridge", self.ridge, "derived",
                         "curvature of the l2 term that was minimised, intercept included: "
                         "alpha, or more where noise and guarantee ask for it")]


def _tail(problem):
    """Return the price of the second noise."""
    if problem.delta == 0:
        return _PURE_TAIL * problem.epsilon
    return _TAIL * gdp.mu(problem.epsilon, problem.delta)


def _noise_scale(problem, clip_norm):
    """Return about the scale of b, and the length that b has."""
    dimension = problem.model.dimension
    if problem.delta == 0:
        scale = 2.0 * clip_norm / problem.epsilon
        return scale, scale * dimension
    scale = 2.0 * clip_norm / gdp.mu(problem.epsilon, problem.delta)
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
    reach = (_PLAIN_REACH if problem.directions is None else _WHITENED_REACH) / radius
    if alpha > 0:
        reach = min(reach, 0.5 * math.sqrt(clip_norm / (radius * alpha)))
    pull = _noise_scale(problem, clip_norm)[1] / problem.n_samples
    return pull * (1.0 / reach + pull * radius / clip_norm)


def _fine_tolerance(problem, clip_norm, ridge):
    """Return a tolerance whose noise is a tenth of that of b where the loss is as curved as
    it can be in all directions alike."""
    curved = 1.0 + problem.smoothness / (problem.model.dimension * ridge)
    scale = _noise_scale(problem, clip_norm)[0] / problem.n_samples
    finest = max(_FINEST, problem.n_samples * 2.0**-53) * clip_norm
    return max(_HIDDEN * _tail(problem) * scale / curved, finest)

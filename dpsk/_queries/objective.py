r"""The minimizer of an objective with a random linear term, released to a certified tolerance.

With clipped losses l_i, the objective is
``J(theta) = sum_i l_i(theta) + (lam / 2) ||theta||^2 + <b, theta>``. Its exact minimizer is a
bijection of the noise b. Its densities under two neighboring data sets differ by a shift of b by
at most ``2 C`` and by a determinant ratio of at most ``1 + beta / lam``. The exact minimizer
cannot be computed. The mechanism releases a point with a certified gradient norm, plus a second,
far smaller noise that hides the distance from the exact minimizer.

References
----------
Chaudhuri, Monteleoni and Sarwate, "Differentially private empirical risk minimization", JMLR
2011. Iyengar, Near, Song, Thakkar, Thakurta and Wang, "Towards practical differentially
private convex optimization", S&P 2019 (approximate minima). Nesterov, "Introductory lectures
on convex optimization", 2004, Theorem 2.2.3 (the steps that suffice).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import Composed, Dominated, Gaussian, Pure
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle, Queries, row_sums
from dpsk._queries.one_shot import finite, steps_to_certify
from dpsk._sums.linear_sums import float_sums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._objective.penalties.base import Penalty
    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["ObjectiveOracle", "PerturbedObjective", "determinant_loss"]

#: With more coordinates, a factorization takes longer than the steps that it saves.
_MOST_COORDINATES = 500
_MOST_FACTORISATIONS = 40
_MOST_CHEAP_STEPS = 400


def determinant_loss(smoothness: float, ridge: float, n_samples: int) -> float:
    """Return ``log(1 + beta / lam)`` with ``lam = n ridge``.

    Replacing a row subtracts one matrix of rank one and norm at most beta from the Hessian and
    adds another. Either change alone changes the determinant by at most that factor.
    """
    return math.log1p(smoothness / (n_samples * ridge))


@dataclass(frozen=True)
class PerturbedObjective(Queries):
    """One minimizer of a noisy objective, with noise that hides the tolerance.

    The noise multiplier is the scale of b over the clip norm. Replacing a row therefore shifts b
    by at most ``2 / noise_multiplier`` times its scale.

    Parameters
    ----------
    clip_norm : float
        C, the clip norm of a row's gradient.
    pure : bool
        Whether the guarantee is pure epsilon, rather than Gaussian.
    ridge : float
        Curvature of the l2 term added to the mean loss, on every coordinate; ``lam / n``.
    determinant : float
        Bound on the determinants' contribution to the privacy loss.
    tail : float
        Privacy cost of the second noise: an epsilon if `pure`, else a mu.
    tolerance : float
        Norm of the gradient of ``J / n`` to certify; at least the bound on its rounding is used.
    """

    clip_norm: float
    pure: bool
    ridge: float
    determinant: float
    tail: float
    tolerance: float

    penalizes_intercept: ClassVar[bool] = True

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of both noises."""
        return Composed(self.releases(noise_multiplier))

    def releases(self, noise_multiplier: float) -> tuple[Elementary, Elementary]:
        """Return the events of the exact minimizer and of the second noise."""
        shift = REPLACE_ONE / noise_multiplier
        if self.pure:
            return Pure(self.determinant + shift), Pure(self.tail)
        return Dominated(self.determinant + 0.5 * shift**2, shift), Gaussian(self.tail)

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> ObjectiveOracle:
        """Return the oracle over rows."""
        return ObjectiveOracle(row_sums(float_sums, data, self.clip_norm), self, noise_multiplier,
                               session)


class ObjectiveOracle(Oracle):
    """Minimize a noisy objective and release the result once.

    The noise b, the exact minimizer, the residual and the choice of algorithm are never released.
    Everything runs in float64, and nonfinite coordinates become 0 before the second noise.
    """

    arithmetic = "snapped"

    def __init__(self, sums: Any, asked: PerturbedObjective, noise_multiplier: float,
                 session: Session) -> None:
        self._sums, self._asked, self._session = sums, asked, session
        self._events = asked.releases(noise_multiplier)
        self._noise_multiplier = noise_multiplier
        self._rounding = self._rounding_bound()
        # A gradient norm below its rounding error cannot be certified.
        self._tolerance = max(asked.tolerance, self._rounding)

    def minimize(self, theta: FloatArray, penalty: Penalty) -> FloatArray:
        """Return the noisy minimizer of the mean loss plus the declared ridge.

        `theta` is the public start. `penalty` is an l2 penalty no stronger than the declared
        ridge, which replaces it. Raise a ValueError, before any noise is drawn, if the declared
        bounds do not hold.
        """
        self._check(penalty)
        asked = self._asked
        missed = self._tolerance + self._rounding
        exact, tail = self._events
        known = Sensitivity(REPLACE_ONE * missed / asked.ridge,
                            "gamma_norm" if asked.pure else "standard_normal", size=theta.size)
        return self._session(
            tail, lambda batch: finite(self._minimizer(theta, self._pull(batch, theta))), known,
            also=(exact,))

    def _check(self, penalty: Penalty) -> None:
        sums, asked = self._sums, self._asked
        plain = penalty.is_smooth and penalty.smoothness == penalty.strong_convexity
        if sums.loss.vector_output or not plain or penalty.smoothness > asked.ridge:
            raise ValueError("solver='objective_perturbation' needs a scalar prediction and an "
                             "l2 penalty on all coordinates; use solver='gd'.")
        sums.require_monotone()
        determinant = determinant_loss(sums.smoothness, asked.ridge, sums.n_samples)
        if not determinant <= asked.determinant:
            raise ValueError("solver_options: ridge: the declared ridge is too weak for the "
                             "curvature of a row's loss; leave it out.")

    def _rounding_bound(self) -> float:
        """Bound the rounding in a gradient of ``J / n`` near its minimizer, from public facts.

        A minimizer has norm at most ``2 ||b / n|| / ridge + sqrt(2 F0 / ridge)``, where F0 is the
        loss at 0: the objective is at most F0 at its minimizer, and losses are nonnegative.
        """
        sums, ridge = self._sums, self._asked.ridge
        dimension = sums.model.dimension
        # The norm of b, in its scale, exceeds this length with a probability below 1e-20.
        length = 4.0 * dimension + 100.0 if self._asked.pure else math.sqrt(dimension) + 12.0
        pull = length * self._noise_multiplier * sums.clip_norm / sums.n_samples
        reach = 2.0 * pull / ridge + math.sqrt(2.0 * sums.risk_at_zero / ridge)
        return sums.rounding_error(reach, 4.0 * (ridge * reach + pull))

    def _pull(self, batch: Batch, theta: FloatArray) -> FloatArray:
        """Draw ``b / n``."""
        draw = batch.gamma_norm if self._asked.pure else batch.normal
        scale = self._noise_multiplier * self._sums.clip_norm
        return scale * draw(theta.shape) / self._sums.n_samples

    def _minimizer(self, theta: FloatArray, linear: FloatArray) -> FloatArray:
        """Return a point at which the gradient's norm is at most the tolerance."""
        found = None
        if theta.size <= _MOST_COORDINATES:
            found = self._newton(theta, linear)
        # If Newton's method fails, accelerated steps reach the tolerance on every data set.
        return self._accelerated(theta, linear) if found is None else found

    def _gradient(self, theta: FloatArray, linear: FloatArray) -> FloatArray:
        mean = self._sums.gradient(theta) / self._sums.n_samples
        return mean + self._asked.ridge * theta + linear

    def _newton(self, theta: FloatArray, linear: FloatArray) -> FloatArray | None:
        """Return a certified point, or None if damped Newton steps stall."""
        gradient = self._gradient(theta, linear)
        for _ in range(_MOST_FACTORISATIONS):
            if np.linalg.norm(gradient) <= self._tolerance:
                return theta
            hessian = self._sums.hessian(theta) / self._sums.n_samples
            hessian[np.diag_indices_from(hessian)] += self._asked.ridge
            try:
                factor = cho_factor(hessian, check_finite=False)
            except LinAlgError:
                return None
            stepped = self._with_factor(theta, gradient, factor, linear)
            if stepped is None:
                return None
            theta, gradient = stepped
        return None

    def _with_factor(self, theta: FloatArray, gradient: FloatArray, factor: Any,
                     linear: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Step with one factorization while gradients shrink quickly; None if they never do."""
        moved = None
        for _ in range(_MOST_CHEAP_STEPS):
            norm = np.linalg.norm(gradient)
            if norm <= self._tolerance:
                return theta, gradient
            direction = cho_solve(factor, gradient, check_finite=False)
            for halvings in range(1 if moved else 30):
                following = theta - 0.5**halvings * direction
                next_gradient = self._gradient(following, linear)
                next_norm = np.linalg.norm(next_gradient)
                if next_norm <= (1.0 - 1e-4 * 0.5**halvings) * norm:
                    break
            else:
                return moved
            theta, gradient = following, next_gradient
            moved = theta, gradient
            if next_norm > 0.3 * norm:
                break
        return moved

    def _accelerated(self, theta: FloatArray, linear: FloatArray) -> FloatArray:
        """Take accelerated steps until the point is certified, at most `steps_to_certify`."""
        sums, ridge, tolerance = self._sums, self._asked.ridge, self._tolerance
        # At the public start, zero, every row's gradient has at most the clip norm.
        start = sums.clip_norm + np.linalg.norm(linear)
        step = 1.0 / (sums.smoothness + ridge)
        root = math.sqrt(step * ridge)
        momentum = (1.0 - root) / (1.0 + root)
        point = theta
        for _ in range(steps_to_certify(sums.smoothness, ridge, start, tolerance)):
            gradient = self._gradient(point, linear)
            if np.linalg.norm(gradient) <= tolerance:
                return point
            following = point - step * gradient
            point = following + momentum * (following - theta)
            theta = following
        return theta

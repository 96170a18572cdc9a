"""Output perturbation: noiseless gradient descent and one noisy answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.sensitivity import (
    contraction,
    gradient_descent_sensitivity,
    minimizer_sensitivity,
)
from dpsk._queries.base import Oracle, Queries, row_sums
from dpsk._sums.linear_sums import float_sums

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._objective.penalties.base import Penalty
    from dpsk._privacy.elementary import Elementary
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["Output", "OutputOracle", "finite", "steps_to_certify"]


def steps_to_certify(smoothness: float, strong_convexity: float, start: float,
                     tolerance: float) -> int:
    """Return the number of accelerated steps that suffices for `tolerance` on any data.

    The steps start at 0, where the gradient has norm at most `start`. The excess is at most
    ``start^2 / alpha`` there, and falls by the factor ``1 - 1 / sqrt(kappa)`` in every step. Half
    the squared norm of a gradient is at most the curvature times the excess (Nesterov 2004,
    Theorem 2.2.3). `smoothness` belongs to the data term, `strong_convexity` (alpha) to the
    added quadratic.
    """
    kappa = (smoothness + strong_convexity) / strong_convexity
    if kappa == 1.0:
        return 1
    needed = math.log(2.0 * kappa * (start / tolerance) ** 2) / -math.log1p(-kappa**-0.5)
    return max(1, math.ceil(needed))


@dataclass(frozen=True)
class Output(Queries):
    """One noisy last iterate of noiseless gradient descent.

    The noise multiplier is the scale of the noise over the sensitivity.

    Parameters
    ----------
    pure : bool
        Whether the guarantee is pure epsilon, rather than Gaussian.
    clip_norm : float
        C, the clip norm of a row's gradient.
    """

    pure: bool
    clip_norm: float

    penalizes_intercept: ClassVar[bool] = True

    def event(self, noise_multiplier: float) -> Elementary:
        """Return the privacy cost of the answer."""
        return (Pure if self.pure else Gaussian)(1.0 / noise_multiplier)

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> OutputOracle:
        """Return the oracle over rows."""
        return OutputOracle(row_sums(float_sums, data, self.clip_norm), self, noise_multiplier,
                            session)


class OutputOracle(Oracle):
    """Run gradient steps without noise and release the last iterate with noise.

    Exact iterates are never released. Everything runs in float64. Nonfinite coordinates become 0
    before the noise, so that no exception leaks information about the rows.
    """

    arithmetic = "snapped"

    def __init__(self, sums: Any, asked: Output, noise_multiplier: float,
                 session: Session) -> None:
        self._sums, self._session = sums, session
        self._pure, self._event = asked.pure, asked.event(noise_multiplier)

    def descend(self, theta: FloatArray, penalty: Penalty, step: float,
                n_steps: int) -> FloatArray:
        """Return the noisy last iterate of proximal gradient descent from a public start.

        The oracle computes the sensitivity from the clip norm and from the penalty object, whose
        curvature and proximal map are trusted. Raise a ValueError, before any noise is drawn, if
        the steps are not known to be nonexpansive.
        """
        sensitivity = self._sensitivity(penalty, step, n_steps)

        def descended(batch: Batch) -> FloatArray:
            point = theta
            for _ in range(n_steps):
                point = penalty.prox(point - step * self._gradient(point, penalty), step)
            return point

        return self._released(descended, sensitivity)

    def minimize(self, theta: FloatArray, penalty: Penalty, tolerance: float, n_steps: int) -> Any:
        """Return the noisy minimizer, up to a guaranteed gradient norm, from the start zero.

        The number of accelerated steps is public, so the duration leaks nothing about the rows.
        With at least `steps_to_certify` steps, the gradient norm is at most `tolerance` on any
        data, and the point within ``tolerance / alpha`` of the minimizer. Raise a ValueError,
        before any noise is drawn, if the steps may not suffice.
        """
        self._sums.require_monotone()
        sums, alpha = self._sums, penalty.strong_convexity
        enough = penalty.is_smooth and penalty.smoothness == alpha and n_steps >= steps_to_certify(
            sums.smoothness, alpha, sums.clip_norm, tolerance)
        if not enough:
            raise ValueError(f"tolerance={tolerance!r}: the minimizer is reached only with an l2 "
                             f"penalty and enough steps, which {n_steps} may not be; raise "
                             "tolerance in solver_options, or use solver='gd'.")
        # Accelerated steps amplify the rounding of a gradient about sqrt(kappa) times.
        rounding = sums.rounding_error(sums.clip_norm / alpha, 4.0 * sums.clip_norm)
        missed = tolerance + 2.0 * math.sqrt(1.0 + sums.smoothness / alpha) * rounding
        sensitivity = minimizer_sensitivity(
            lipschitz=sums.clip_norm, n_samples=sums.n_samples, strong_convexity=alpha,
            tolerance=missed) * sums.rounding
        return self._released(lambda batch: self._accelerated(theta, penalty, n_steps),
                              sensitivity)

    def _accelerated(self, theta: FloatArray, penalty: Penalty, n_steps: int) -> Any:
        """Return the point after `n_steps` accelerated steps."""
        alpha = penalty.strong_convexity
        step = 1.0 / (self._sums.smoothness + alpha)
        root = math.sqrt(step * alpha)
        momentum = (1.0 - root) / (1.0 + root)
        point = theta
        for _ in range(n_steps):
            following = point - step * self._gradient(point, penalty)
            point = following + momentum * (following - theta)
            theta = following
        return theta

    def _gradient(self, theta: FloatArray, penalty: Penalty) -> FloatArray:
        return self._sums.gradient(theta) / self._sums.n_samples + penalty.gradient(theta)

    def _sensitivity(self, penalty: Penalty, step: float, n_steps: int) -> float:
        """Bound the l2 distance between last iterates on neighboring data."""
        sums = self._sums
        self._sums.require_monotone()
        alpha = penalty.strong_convexity
        # A ridge on only some coordinates raises the largest curvature, not the smallest.
        smoothness = sums.smoothness + penalty.smoothness - alpha
        if contraction(step, alpha, smoothness) > 1.0:
            # The sensitivity and the iterates would grow without bound.
            raise ValueError(f"learning_rate={step!r}: a step must not expand distances, so at "
                             f"most {2.0 / (smoothness + alpha):.6g} here; leave "
                             "learning_rate=None, or use solver='gd'.")
        exact = gradient_descent_sensitivity(
            lipschitz=sums.clip_norm, n_samples=sums.n_samples, step=step, n_steps=n_steps,
            smoothness=smoothness, strong_convexity=alpha)
        return exact * self._sums.rounding

    def _released(self, read: Callable[..., Any], sensitivity: float) -> FloatArray:
        known = Sensitivity(sensitivity, "gamma_norm" if self._pure else "standard_normal",
                            size=self._sums.model.dimension)
        return self._session(self._event, lambda batch: finite(read(batch)), known)


def finite(theta: FloatArray) -> FloatArray:
    """Return a copy of theta with 0 in place of nonfinite coordinates."""
    return np.where(np.isfinite(theta), theta, 0.0)

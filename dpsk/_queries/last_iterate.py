r"""Noisy gradient descent that releases only the last iterate.

Let every step contract by ``c`` and add noise of standard deviation ``tau``, and let replacing a
row move a step by at most ``s``. Then the last iterate alone is mu-GDP with
``mu^2 = (s / tau)^2 T_eff``, ``T_eff = (1 - c^T)(1 + c) / ((1 + c^T)(1 - c))``. This is the
privacy cost of T_eff released gradients instead of T (Bok, Su, Altschuler 2024). It holds for
the last iterate only, so nothing else may be released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpsk._mechanism.sensitivity import derived_scale
from dpsk._privacy.events import Gaussian
from dpsk._privacy.noise.grids import float_unit
from dpsk._privacy.sensitivity import REPLACE_ONE, contraction, effective_steps
from dpsk._queries.base import Oracle, Queries, row_sums
from dpsk._queries.one_shot import finite
from dpsk._sums.linear_sums import float_sums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._objective.penalties.base import Penalty
    from dpsk._privacy.elementary import Elementary
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["LastIterate", "LastIterateOracle"]


@dataclass(frozen=True)
class LastIterate(Queries):
    """The last of `steps` noisy iterates.

    Parameters
    ----------
    clip_norm : float
        C, the clip norm of a row's gradient.
    steps : int
    step : float
    strong_convexity : float
        Smallest curvature of the penalty over all coordinates.
    """

    clip_norm: float
    steps: int
    step: float
    strong_convexity: float

    penalizes_intercept: ClassVar[bool] = True

    def event(self, noise_multiplier: float) -> Elementary:
        """Return the privacy cost of the last iterate."""
        return Gaussian(REPLACE_ONE * math.sqrt(self.effective_steps) / noise_multiplier)

    @property
    def effective_steps(self) -> float:
        """float : T_eff."""
        return effective_steps(1.0 - self.step * self.strong_convexity, self.steps)

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> LastIterateOracle:
        """Return the oracle over rows."""
        return LastIterateOracle(row_sums(float_sums, data, self.clip_norm), self,
                                 noise_multiplier, session)


class LastIterateOracle(Oracle):
    """Run gradient steps with noise `z C` on a sum, and release the last iterate once."""

    arithmetic = "snapped"

    def __init__(self, sums: Any, asked: LastIterate, noise_multiplier: float,
                 session: Session) -> None:
        self._sums, self._asked, self._session = sums, asked, session
        self._event = asked.event(noise_multiplier)
        # The last iterate costs as much as T_eff released steps.
        moved = REPLACE_ONE * sums.clip_norm * math.sqrt(asked.effective_steps)
        self._noise_std = derived_scale(self._event, moved) * sums.rounding

    def descend(self, theta: FloatArray, penalty: Penalty) -> FloatArray:
        """Return the last iterate of the declared noisy descent from the public start `theta`.

        Raise a ValueError, before any noise is drawn, if the steps are not known to contract.
        """
        self._check(penalty)
        step, n_samples = self._asked.step, self._sums.n_samples

        def descended(batch: Batch) -> FloatArray:
            point = theta
            for _ in range(self._asked.steps):
                noise = self._noise_std * batch.normal(point.shape)
                gradient = (self._sums.gradient(point) + noise) / n_samples
                point = point - step * (gradient + penalty.gradient(point))
            return finite(point)

        # Every step adds noise, so the last iterate needs only rounding of its low-order bits.
        unit = float_unit(step * self._noise_std / n_samples)
        return self._session.hidden(self._event, descended, unit)

    def _check(self, penalty: Penalty) -> None:
        sums, asked = self._sums, self._asked
        sums.require_monotone()
        alpha = penalty.strong_convexity
        # The penalty must have the same curvature everywhere and no proximal map after the noise.
        plain = penalty.is_smooth and penalty.smoothness == alpha == asked.strong_convexity
        bound = 1.0 - asked.step * alpha
        if not plain or contraction(asked.step, alpha, sums.smoothness) > bound:
            raise ValueError(
                f"learning_rate={asked.step!r}: the last iterate alone is cheaper only for an "
                "l2 penalty on all coordinates and steps of at most 2 / (smoothness + 2 alpha); "
                "leave learning_rate=None, or use solver='gd'.")

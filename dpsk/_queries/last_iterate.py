r"""Noisy descent of which only the last iterate leaves.

With steps that contract by ``c`` and noise of standard deviation ``tau`` in each, where replacing
a row moves a step by at most ``s``, the last iterate alone is mu-GDP with
``mu^2 = (s / tau)^2 T_eff``, ``T_eff = (1 - c^T)(1 + c) / ((1 + c^T)(1 - c))``: the price of
T_eff released gradients instead of T (Bok, Su, Altschuler 2024). It holds for that iterate only,
so nothing else may leave.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpsk._mechanism.sensitivity import derived_scale
from dpsk._privacy.noise.grids import float_unit
from dpsk._privacy.sensitivity import REPLACE_ONE, contraction
from dpsk._queries.base import SumsOracle
from dpsk._queries.one_shot import finite

if TYPE_CHECKING:
    from typing import Any

    from dpsk._mechanism.session import Batch, Session
    from dpsk._objective.penalties.base import Penalty
    from dpsk._typing import FloatArray

__all__ = ["LastIterateOracle"]


class LastIterateOracle(SumsOracle):
    """Run noisy gradient steps, of noise `z C` on a sum, and release the last iterate, once."""

    arithmetic = "snapped"
    penalizes_intercept = True

    def __init__(self, sums: Any, declared: Any, noise_multiplier: float,
                 session: Session) -> None:
        self._sums, self._declared, self._session = sums, declared, session
        self._event = declared(noise_multiplier)
        # The end costs what T_eff steps that are shown would.
        moved = REPLACE_ONE * sums.clip_norm * math.sqrt(declared.effective_steps)
        self._noise_std = derived_scale(self._event, moved) * sums.rounding

    def descend(self, theta: FloatArray, penalty: Penalty) -> FloatArray:
        """Return the last iterate of the declared noisy descent from the public start `theta`.

        A ValueError if the steps are not known to contract; nothing has been drawn then.
        """
        self._check(penalty)
        step, n_samples = self._declared.step, self._sums.n_samples

        def descended(batch: Batch) -> FloatArray:
            point = theta
            for _ in range(self._declared.steps):
                noise = self._noise_std * batch.normal(point.shape)
                gradient = (self._sums.gradient(point) + noise) / n_samples
                point = point - step * (gradient + penalty.gradient(point))
            return finite(point)

        # Every step has its own noise, so the end needs no more; its last bits tell nothing.
        unit = float_unit(step * self._noise_std / n_samples)
        return self._session.hidden(self._event, descended, unit)

    def _check(self, penalty: Penalty) -> None:
        sums, declared = self._sums, self._declared
        sums.require_monotone()
        alpha = penalty.strong_convexity
        # A penalty of the same curvature everywhere, and no proximal map after the noise.
        plain = penalty.is_smooth and penalty.smoothness == alpha == declared.strong_convexity
        bound = 1.0 - declared.step * alpha
        if not plain or contraction(declared.step, alpha, sums.smoothness) > bound:
            raise ValueError(
                f"learning_rate={declared.step!r}: the last iterate alone is cheaper only for an "
                "l2 penalty on all coordinates and steps of at most 2 / (smoothness + 2 alpha); "
                "leave learning_rate=None, or use solver='gd'.")

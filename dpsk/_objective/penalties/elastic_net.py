"""The l2 and l1 norms and their mixtures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.penalties.base import Penalty
from dpsk._objective.penalties.mapped import MappedRidge

if TYPE_CHECKING:
    from dpsk._typing import FloatArray


@dataclass(frozen=True)
class ElasticNet(Penalty):
    r"""``alpha (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||_2^2)``.

    Parameters
    ----------
    alpha : float
    l1_ratio : float in [0, 1]
        0 for the l2 penalty, 1 for the l1 penalty.
    unpenalized : int
        How many rows at the end of `theta` (the intercept) are left unpenalized.
    """

    alpha: float
    l1_ratio: float = 0.0
    unpenalized: int = 0

    @property
    def smoothness(self) -> float:
        return self.alpha * (1.0 - self.l1_ratio)

    @property
    def is_smooth(self) -> bool:
        return self.alpha * self.l1_ratio == 0.0

    @property
    def strong_convexity(self) -> float:
        return 0.0 if self.unpenalized else self.smoothness

    def mapped(self, matrix: FloatArray) -> Penalty:
        return MappedRidge(self.smoothness, matrix) if self.is_smooth and self.alpha else self

    def in_unit(self, unit: float) -> Penalty:
        return self._of(self.alpha * self.l1_ratio / unit, self.smoothness / unit**2)

    def for_targets(self, unit: float) -> Penalty:
        # Squares scale as the loss does, and so keep their strength.
        return self._of(self.alpha * self.l1_ratio / unit, self.smoothness)

    def _of(self, l1: float, l2: float) -> Penalty:
        return replace(self, alpha=l1 + l2, l1_ratio=l1 / (l1 + l2)) if l1 + l2 else self

    def value(self, theta: FloatArray) -> float:
        w = self._penalized(theta)
        return float(self.alpha * self.l1_ratio * np.abs(w).sum()
                     + 0.5 * self.smoothness * np.square(w).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        gradient = self.smoothness * theta
        if self.unpenalized:
            self._free(gradient)[...] = 0.0
        return gradient

    def prox(self, theta: FloatArray, step: float) -> FloatArray:
        threshold = step * self.alpha * self.l1_ratio
        if not threshold:
            return theta
        shrunk = np.sign(theta) * np.maximum(np.abs(theta) - threshold, 0.0)
        self._free(shrunk)[...] = self._free(theta)
        return shrunk

    def _penalized(self, theta: FloatArray) -> FloatArray:
        return theta[:len(theta) - self.unpenalized]

    def _free(self, theta: FloatArray) -> FloatArray:
        return theta[len(theta) - self.unpenalized:]

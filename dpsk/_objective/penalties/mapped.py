"""An l2 penalty on coefficients that are a linear map of what a solver moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.penalties.base import Penalty

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["MappedRidge"]


@dataclass(frozen=True, eq=False)
class MappedRidge(Penalty):
    r"""``(alpha / 2) ||M theta||_2^2``, whose proximal map is a linear one.

    It is all in the proximal map, so that no step has to bear the largest curvature of the map.

    Parameters
    ----------
    alpha : float
    matrix : ndarray of shape (n_features, rows of theta)
        M, public. Rows that theta has beyond its columns are not penalized.
    """

    alpha: float
    matrix: np.ndarray
    _values: np.ndarray = field(init=False, repr=False)
    _vectors: np.ndarray = field(init=False, repr=False)

    smoothness = 0.0
    strong_convexity = 0.0
    is_smooth = False

    def __post_init__(self) -> None:
        values, vectors = np.linalg.eigh(self.alpha * (self.matrix.T @ self.matrix))
        object.__setattr__(self, "_values", np.maximum(values, 0.0))
        object.__setattr__(self, "_vectors", vectors)

    def in_unit(self, unit: Any) -> Any:
        return MappedRidge(self.alpha, self.matrix / unit)

    def value(self, theta: FloatArray) -> Any:
        return 0.5 * self.alpha * float(np.square(self.matrix @ self._own(theta)).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        return np.zeros_like(theta)

    def slope(self, theta: FloatArray) -> FloatArray:
        slope = np.zeros_like(theta)
        self._own(slope)[...] = self.alpha * (self.matrix.T @ (self.matrix @ self._own(theta)))
        return slope

    def prox(self, theta: FloatArray, step: float) -> FloatArray:
        result, own = theta.copy(), self._own(theta)
        shares = 1.0 / (1.0 + step * self._values)
        turned = self._vectors.T @ own
        self._own(result)[...] = self._vectors @ (turned.T * shares).T
        return result

    def _own(self, theta: FloatArray) -> FloatArray:
        return theta[:self.matrix.shape[1]]

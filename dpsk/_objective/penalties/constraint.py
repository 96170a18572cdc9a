"""Convex sets as penalties: the value is 0 or infinite, the proximal map is the projection."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.penalties.base import Penalty

if TYPE_CHECKING:

    from dpsk._typing import FloatArray

__all__ = ["ConstraintSet"]


@dataclass(frozen=True)
class ConstraintSet(Penalty):
    """A set around its center; the last `unpenalized` rows of theta are not constrained.

    Parameters
    ----------
    radius : float
        Size of the set.
    unpenalized : int
    """

    radius: float
    unpenalized: int = 0
    strong_convexity = 0.0
    smoothness = 0.0
    is_smooth = False

    def in_unit(self, unit: float) -> Penalty:
        return replace(self, radius=self.radius * unit)

    def value(self, theta: FloatArray) -> float:
        inside = self._excess(self._constrained(theta)) <= 1e-9 * self.radius
        return 0.0 if inside else float("inf")

    def gradient(self, theta: FloatArray) -> FloatArray:
        return np.zeros_like(theta)

    def prox(self, theta: FloatArray, step: float) -> FloatArray:
        w = self._constrained(theta)
        if self._excess(w) <= 0.0:
            return theta
        projected = theta.copy()
        self._constrained(projected)[...] = self._project(w)
        return projected

    @abstractmethod
    def longest(self, dimension: int) -> float:
        """Return the largest l2 norm of a point of the set in so many dimensions."""

    @abstractmethod
    def _excess(self, w: FloatArray) -> float:
        """Return by how much `w` breaks the constraint, at most 0 exactly inside."""

    @abstractmethod
    def _project(self, w: FloatArray) -> FloatArray:
        """Return the nearest point of the set to a `w` outside."""

    def _constrained(self, theta: FloatArray) -> FloatArray:
        return theta[:len(theta) - self.unpenalized]

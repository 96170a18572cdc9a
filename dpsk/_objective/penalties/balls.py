"""Balls around zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.penalties.constraint import ConstraintSet
from dpsk._objective.projections import simplex_projection

if TYPE_CHECKING:
    from dpsk._typing import FloatArray


@dataclass(frozen=True)
class L2Ball(ConstraintSet):
    """``||w||_2 <= radius``, over all classes together."""

    def longest(self, dimension: int) -> float:
        return self.radius

    def _norm(self, w: FloatArray) -> float:
        return float(np.sqrt(np.square(w).sum()))

    def _excess(self, w: FloatArray) -> float:
        return self._norm(w) - self.radius

    def _project(self, w: FloatArray) -> FloatArray:
        return w * (self.radius / self._norm(w))


@dataclass(frozen=True)
class L1Ball(ConstraintSet):
    """``||w||_1 <= radius``, over all classes together."""

    def longest(self, dimension: int) -> float:
        return self.radius

    def _excess(self, w: FloatArray) -> float:
        return float(np.abs(w).sum()) - self.radius

    def _project(self, w: FloatArray) -> FloatArray:
        return np.sign(w) * simplex_projection(np.abs(w), self.radius)


@dataclass(frozen=True)
class Box(ConstraintSet):
    """``-radius <= w_j <= radius`` for every coordinate."""

    def longest(self, dimension: int) -> float:
        return self.radius * float(np.sqrt(dimension))

    def _excess(self, w: FloatArray) -> float:
        return float(np.abs(w).max(initial=0.0)) - self.radius

    def _project(self, w: FloatArray) -> FloatArray:
        return np.clip(w, -self.radius, self.radius)

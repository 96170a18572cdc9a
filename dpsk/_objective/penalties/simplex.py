"""Weights that sum to a given total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._objective.penalties.constraint import ConstraintSet
from dpsk._objective.projections import simplex_projection

if TYPE_CHECKING:
    from dpsk._typing import FloatArray


@dataclass(frozen=True)
class Simplex(ConstraintSet):
    """``w_j >= 0`` with sum `radius`, over all classes together."""

    def longest(self, dimension: int) -> float:
        return self.radius

    def _excess(self, w: FloatArray) -> float:
        # Rounding leaves a sum within a few ulps, which is as near as a projection comes.
        return max(float(-w.min(initial=0.0)), abs(float(w.sum()) - self.radius))

    def _project(self, w: FloatArray) -> FloatArray:
        return simplex_projection(w, self.radius)

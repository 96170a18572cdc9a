"""Weights that sum to a given total."""

from dataclasses import dataclass

from dpsk._objective.penalties.constraint import ConstraintSet
from dpsk._objective.projections import simplex_projection


@dataclass(frozen=True)
class Simplex(ConstraintSet):
    """``w_j >= 0`` with sum `radius`, over all classes together."""

    def longest(self, dimension):
        return self.radius

    def _excess(self, w):
        # Rounding leaves a sum within a few ulps, which is as near as a projection comes.
        return max(float(-w.min(initial=0.0)), abs(float(w.sum()) - self.radius))

    def _project(self, w):
        return simplex_projection(w, self.radius)

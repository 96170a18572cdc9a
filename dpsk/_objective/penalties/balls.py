"""Balls around zero."""

from dataclasses import dataclass

import numpy as np

from dpsk._objective.penalties.constraint import ConstraintSet
from dpsk._objective.projections import simplex_projection


@dataclass(frozen=True)
class L2Ball(ConstraintSet):
    """``||w||_2 <= radius``, over all classes together."""

    def longest(self, dimension):
        return self.radius

    def _norm(self, w):
        return float(np.sqrt(np.square(w).sum()))

    def _excess(self, w):
        return self._norm(w) - self.radius

    def _project(self, w):
        return w * (self.radius / self._norm(w))


@dataclass(frozen=True)
class L1Ball(ConstraintSet):
    """``||w||_1 <= radius``, over all classes together."""

    def longest(self, dimension):
        return self.radius

    def _excess(self, w):
        return float(np.abs(w).sum()) - self.radius

    def _project(self, w):
        return np.sign(w) * simplex_projection(np.abs(w), self.radius)


@dataclass(frozen=True)
class Box(ConstraintSet):
    """``-radius <= w_j <= radius`` for every coordinate."""

    def longest(self, dimension):
        return self.radius * float(np.sqrt(dimension))

    def _excess(self, w):
        return float(np.abs(w).max(initial=0.0)) - self.radius

    def _project(self, w):
        return np.clip(w, -self.radius, self.radius)

r"""Mirror maps for steps inside a convex set.

A map w is 1-strongly convex in a norm in which the set has size about 1. A step of length a
from z along a gradient g goes to the minimizer over the set of ``B_w(., z) + a <g, .>``, with B_w
the Bregman distance. A prediction changes by at most `row_bound` times this norm of a change in
coefficients, so the smoothness in this norm is the loss's own times ``row_bound^2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from dpsk._objective.penalties import Box, ConstraintSet, L1Ball, L2Ball, Simplex

if TYPE_CHECKING:
    from typing import Any

    from dpsk._models.linear import LinearModel
    from dpsk._typing import FloatArray, Shape

__all__ = ["GEOMETRIES", "Entropy", "Euclidean", "SplitEntropy", "default_geometry",
           "make_geometry"]


@dataclass(frozen=True)
class Euclidean:
    r"""Projected steps: ``w = ||x||^2 / (2 rho^2)``, rho the largest norm in the set.

    Parameters
    ----------
    constraint : ConstraintSet
    shape : tuple of int
    """

    constraint: ConstraintSet
    shape: tuple
    #: Factor in the default number of steps, found by measurement.
    step_gain = 1.4

    @property
    def reach(self) -> float:
        """float : rho."""
        return self.constraint.longest(int(np.prod(self.shape)))

    @property
    def divergence(self) -> float:
        """float : bound on the Bregman distance between a point of the set and the start."""
        return 0.5

    @property
    def width(self) -> float:
        """float : bound on the Gaussian width of the set."""
        dimension = int(np.prod(self.shape))
        if isinstance(self.constraint, (L1Ball, Simplex)):
            return self.reach * np.sqrt(2.0 * np.log(2.0 * dimension))
        return self.reach * np.sqrt(dimension)

    def row_bound(self, model: LinearModel) -> float:
        """Return the bound on a row's dual norm, with respect to the map's norm."""
        return self.reach * model.radius

    def start(self) -> FloatArray:
        """Return the state at the center of the set."""
        return self.constraint.prox(np.zeros(self.shape), 1.0)

    def moved(self, state: FloatArray, gradient: FloatArray, length: float) -> FloatArray:
        """Return the state after a mirror step."""
        return self.constraint.prox(state - length * self.reach**2 * gradient, 1.0)

    def point(self, state: FloatArray) -> FloatArray:
        """Return the point of the set for a state."""
        return state


@dataclass(frozen=True)
class Entropy(Euclidean):
    r"""Entropy on the simplex: ``w = sum u log u`` at ``x = rho u``, u in the simplex.

    The state is log u, up to a constant. The map is 1-strongly convex in the l1 norm of u, by
    Pinsker's inequality.
    """

    step_gain = 25.0

    @property
    def divergence(self) -> float:
        return np.log(float(max(2, np.prod(self.shape))))

    def row_bound(self, model: LinearModel) -> float:
        return self.reach * model.coordinate_bound

    def start(self) -> FloatArray:
        return np.zeros(self.shape)

    def moved(self, state: FloatArray, gradient: FloatArray, length: float) -> FloatArray:
        return state - length * self.reach * gradient

    def point(self, state: FloatArray) -> FloatArray:
        return self.reach * softmax(state)


@dataclass(frozen=True)
class SplitEntropy(Entropy):
    r"""Entropy on the l1 ball: ``x = rho (u+ - u-)`` with ``(u+, u-)`` in the simplex.

    From the uniform start ``log u+`` and ``log u-`` stay opposite up to a common constant,
    so the state is half their difference.
    """

    @property
    def divergence(self) -> float:
        return np.log(2.0 * np.prod(self.shape))

    def point(self, state: FloatArray) -> FloatArray:
        size = np.abs(state)
        peak = size.max(initial=0.0)
        larger, ratio = np.exp(size - peak), np.exp(-2.0 * size)
        total = (larger * (1.0 + ratio)).sum()
        # expm1 keeps the precision of small weights.
        return np.sign(state) * larger * -np.expm1(-2.0 * size) * (self.reach / total)


#: Geometries of each kind of set by name; the first one is the default.
GEOMETRIES = {
    L1Ball: {"entropy": SplitEntropy, "euclidean": Euclidean},
    L2Ball: {"euclidean": Euclidean},
    Box: {"euclidean": Euclidean},
    Simplex: {"entropy": Entropy, "euclidean": Euclidean},
}


def default_geometry(constraint: Any) -> str:
    """Return the name of a set's default geometry."""
    return next(iter(GEOMETRIES[type(constraint)]))


def make_geometry(constraint: Any, name: str, shape: Shape) -> SplitEntropy | Euclidean | Entropy:
    """Return the geometry `name` of a set.

    Raises
    ------
    ValueError
        If the set has no such geometry.
    """
    known = GEOMETRIES[type(constraint)]
    if name not in known:
        raise ValueError(f"solver_options: geometry={name!r}: must be one of "
                         f"{', '.join(map(repr, known))} on this set.")
    return known[name](constraint, tuple(shape))

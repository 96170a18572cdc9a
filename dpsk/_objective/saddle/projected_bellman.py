"""The mean-squared projected Bellman error as a saddle problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import AnyArray, FloatArray

__all__ = ["Ball", "ProjectedBellman"]


@dataclass(frozen=True)
class Ball:
    """A dual vector of norm at most `bound`, without a public term."""

    size: int
    bound: float

    curvature = 0.0
    unit = 1.0

    @property
    def start(self) -> FloatArray:
        """ndarray of shape (size,) : public."""
        return np.zeros(self.size)

    def gradient(self, y: AnyArray) -> FloatArray:
        """Return the gradient of the public term."""
        return np.zeros_like(y)

    def project(self, y: AnyArray) -> FloatArray:
        """Return the nearest point of the set."""
        return y * min(1.0, self.bound / max(float(np.linalg.norm(y)), 1e-300))


@dataclass(frozen=True)
class ProjectedBellman:
    r"""``delta <g, w> - <g, w>^2 / 2`` of a transition, with w in a ball as large as theta.

    ``delta = r + gamma V(s') - V(s)`` is the temporal difference and ``g = grad V(s)``. At the
    best w the mean is half the squared norm of the mean of ``delta g`` in the inverse second
    moment of g, the projected Bellman error.

    Parameters
    ----------
    gamma : float
        In [0, 1).
    size : int
        Number of parameters.
    grouped : bool
        Whether the transitions of a group are one row.
    minimax : bool
        Whether it is solved as a saddle problem.

    References
    ----------
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), equation 68.
    """

    gamma: float
    size: int
    grouped: bool = False
    minimax: bool = True

    of_transitions = True
    lipschitz = np.inf
    smoothness = np.inf
    n_extra = 0
    mean_weight = 1.0
    convex = False
    vector_output = False
    #: Larger dual vectors are projected to it.
    _radius: ClassVar[float] = 100.0

    @property
    def dual_set(self) -> Ball:
        """Ball : where w lives."""
        return Ball(self.size, self._radius)

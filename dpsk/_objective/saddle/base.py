"""Losses with a dual variable: minimized in the model, maximised in a few numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.projections import capped_projection

if TYPE_CHECKING:

    from dpsk._typing import AnyArray, FloatArray

__all__ = ["Interval", "SaddleLoss", "Simplex"]


@dataclass(frozen=True)
class Interval:
    """One dual number in an interval around 0, with the public term ``-curvature y^2 / 2``."""

    bound: float
    curvature: float

    size = 1
    unit = 1.0

    @property
    def start(self) -> FloatArray:
        """ndarray of shape (1,) : public."""
        return np.zeros(1)

    def gradient(self, y: AnyArray) -> FloatArray:
        """Return the gradient of the public term."""
        return -self.curvature * y

    def project(self, y: AnyArray) -> FloatArray:
        """Return the nearest point of the set."""
        return np.clip(y, -self.bound, self.bound)


@dataclass(frozen=True)
class Simplex:
    """Weights of sum 1 and bounded size, and the public term ``-curvature ||y - 1/size||^2 / 2``.

    Parameters
    ----------
    first : tuple of float
        Where ascent starts, public.
    curvature : float
    most : tuple of float or None
        Bounds on the weights, of sum at least 1. None: 1.
    """

    first: tuple
    curvature: float
    most: tuple | None = None

    @property
    def size(self) -> int:
        """int : number of weights."""
        return len(self.first)

    @property
    def unit(self) -> FloatArray:
        """ndarray of shape (size,) : factors of rows' dual gradients, applied to noisy sums."""
        return 1.0 / self.start

    @property
    def start(self) -> FloatArray:
        """ndarray of shape (size,) : public."""
        return np.array(self.first)

    def gradient(self, y: AnyArray) -> FloatArray:
        """Return the gradient of the public term."""
        return -self.curvature * (y - 1.0 / self.size)

    def project(self, y: AnyArray) -> FloatArray:
        """Return the nearest point of the set."""
        return capped_projection(y, np.array(self.most or (1.0,) * self.size))


class SaddleLoss(ABC):
    r"""A loss that is pointwise in the raw prediction and linear in a dual variable.

    The problem is ``min over (theta, extra) of max over dual of
    (1/n) sum_i loss(y_i, z_i, extra, dual) + the dual set's public term``.

    Attributes
    ----------
    n_extra : int
        Number of primal numbers beside the model's.
    dual_set : Interval or Simplex
    mean_weight : float
        Mean over rows of the factor of a row's loss, as far as it is public.
    """

    minimax = True
    #: Whether a row is a transition between two states, not one row of features.
    of_transitions = False
    grouped = False
    vector_output = False
    n_extra = 0
    convex = False

    if TYPE_CHECKING:
        # Constants or properties.
        @property
        def mean_weight(self) -> float: ...
        @property
        def lipschitz(self) -> float: ...
        @property
        def smoothness(self) -> float: ...
    else:
        mean_weight = 1.0
        # The clip on a row's gradient is what bounds it.
        lipschitz = smoothness = np.inf

    def row_weights(self, y: AnyArray, dual: FloatArray) -> FloatArray | None:
        """Return the factor of every row that is applied after the clip; None for 1."""
        return None

    def largest_weight(self, dual: FloatArray) -> float:
        """Return the largest factor that any row could have, from public numbers."""
        return 1.0

    @abstractmethod
    def value(self, y: AnyArray, z: FloatArray, extra: FloatArray,
              dual: FloatArray) -> FloatArray:
        """Return the loss of every row, shape (n,), without the public term."""

    @abstractmethod
    def gradients(self, y: AnyArray, z: FloatArray, extra: FloatArray, dual: FloatArray
                  ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return every row's derivatives.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, 2)
        z : ndarray of shape (n,)
        extra : ndarray of shape (n_extra,)
        dual : ndarray of shape (dual_set.size,)

        Returns
        -------
        dz : ndarray of shape (n,)
        d_extra : ndarray of shape (n, n_extra)
        d_dual : ndarray of shape (n, dual_set.size)
            Derivatives over the dual set's unit.
        """

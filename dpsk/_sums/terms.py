"""Blocks of vectors, one a protected unit, and the loop that clips and adds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dpsk._sums.clip import Clip
    from dpsk._typing import FloatArray

__all__ = ["DenseTerms", "JoinedTerms", "PassTerms", "ScaledTerms", "Terms", "WeightedTerms",
           "clipped_sum"]


def clipped_sum(terms: Iterable[Terms], rule: Clip, total: Any) -> Any:
    """Return `total` with the clipped vectors of all blocks added to it."""
    for block in terms:
        block.clip(rule)
        block.add(total)
        # The next block has the room that this one had in the cache.
        del block
    return total


class Terms(ABC):
    """A block of vectors, one a protected unit, which need not be made."""

    @abstractmethod
    def clip(self, rule: Clip) -> None:
        """Bring every vector to the norm of a rule; what is not finite becomes zero."""

    @abstractmethod
    def add(self, total: Any) -> None:
        """Add the sum of the vectors to `total`, in place."""


class ScaledTerms(Terms):
    """Vectors whose norms are asked for.

    Attributes
    ----------
    sizes : float or ndarray of shape (n,)
        A vector is clipped to the norm over this.
    """

    sizes: Any = 1.0

    def clip(self, rule: Clip) -> None:
        self.scale(rule.factors(self.square_norms(), self.sizes))

    @abstractmethod
    def square_norms(self) -> FloatArray:
        """Return the squared norm of every vector, or more, float64, shape (n,)."""

    @abstractmethod
    def scale(self, factors: FloatArray) -> None:
        """Multiply every vector; nothing that is not finite is left where a factor is 0."""


class DenseTerms(ScaledTerms):
    """Vectors that are made, shape (n, dimension); they are overwritten."""

    def __init__(self, vectors: FloatArray) -> None:
        self._vectors = vectors

    def square_norms(self) -> FloatArray:
        return _squares(self._vectors)

    def scale(self, factors: FloatArray) -> None:
        self._vectors *= factors[:, None]
        self._vectors[factors == 0.0] = 0.0

    def add(self, total: FloatArray) -> None:
        total += self._vectors.sum(axis=0)

    def less(self, other: DenseTerms) -> DenseTerms:
        """Return the vectors less those of `other`."""
        return DenseTerms(self._vectors - other._vectors)


class WeightedTerms(ScaledTerms):
    """Short vectors that are made, shape (n, k), and are summed in a product with factors."""

    _factors: FloatArray

    def __init__(self, vectors: FloatArray) -> None:
        self._vectors = vectors

    @property
    def width(self) -> int:
        """int : k."""
        return self._vectors.shape[1]

    def square_norms(self) -> FloatArray:
        return _squares(self._vectors)

    def scale(self, factors: FloatArray) -> None:
        self._vectors[factors == 0.0] = 0.0
        self._factors = factors

    def add(self, total: FloatArray) -> None:
        total += self._factors @ self._vectors

    def less(self, other: WeightedTerms) -> WeightedTerms:
        """Return scaled vectors less those of `other`."""
        return WeightedTerms(self._factors[:, None] * self._vectors
                             - other._factors[:, None] * other._vectors)


class PassTerms(ScaledTerms):
    """Gradients that follow from a pass over a model, carried back, and are not made."""

    _factors: FloatArray

    def __init__(self, passed: Any, sizes: Any = 1.0) -> None:
        self._passed, self.sizes = passed, sizes

    def square_norms(self) -> FloatArray:
        return self._passed.square_norms()

    def scale(self, factors: FloatArray) -> None:
        self._passed.drop(factors == 0.0)
        self._factors = factors

    def add(self, total: FloatArray) -> None:
        self._passed.add_gradient(self._factors, total)

    def less(self, other: PassTerms) -> PassTerms:
        """Return scaled gradients less those of `other`, in parts that do not cancel."""
        return PassTerms(self._passed.less(other._passed, self._factors, other._factors))


class JoinedTerms(ScaledTerms):
    """Gradients in the coordinates of a model, and in extra numbers, as one vector a unit."""

    def __init__(self, gradients: PassTerms, extra: WeightedTerms) -> None:
        self._parts = gradients, extra

    def square_norms(self) -> FloatArray:
        gradients, extra = self._parts
        return gradients.square_norms() + extra.square_norms()

    def scale(self, factors: FloatArray) -> None:
        for part in self._parts:
            part.scale(factors)

    def add(self, total: FloatArray) -> None:
        gradients, extra = self._parts
        coordinates = len(total) - extra.width
        gradients.add(total[:coordinates])
        extra.add(total[coordinates:])

    def less(self, other: JoinedTerms) -> JoinedTerms:
        """Return scaled vectors less those of `other`."""
        (gradients, extra), (others, extras) = self._parts, other._parts
        return JoinedTerms(gradients.less(others), extra.less(extras))


def _squares(vectors: FloatArray) -> FloatArray:
    return np.einsum("ij,ij->i", vectors, vectors)

"""Blocks of vectors, one per privacy unit, and the loop that clips and adds them."""

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
    """Add the clipped vectors of all blocks to `total`, and return it."""
    for block in terms:
        block.clip(rule)
        block.add(total)
        # Free this block first, so that the next one can use its memory in the cache.
        del block
    return total


class Terms(ABC):
    """A block of vectors, one per privacy unit; they may be implicit."""

    @abstractmethod
    def clip(self, rule: Clip) -> None:
        """Clip every vector to the norm of `rule`; nonfinite vectors become zero."""

    @abstractmethod
    def add(self, total: Any) -> None:
        """Add the sum of the vectors to `total`, in place."""


class ScaledTerms(Terms):
    """Vectors that are clipped by computing their norms.

    Attributes
    ----------
    sizes : float or ndarray of shape (n,)
        Each vector is clipped to the norm divided by its size.
    """

    sizes: Any = 1.0

    def clip(self, rule: Clip) -> None:
        self.scale(rule.factors(self.square_norms(), self.sizes))

    @abstractmethod
    def square_norms(self) -> FloatArray:
        """Return squared norms of vectors, or upper bounds on them, float64, (n,)."""

    @abstractmethod
    def scale(self, factors: FloatArray) -> None:
        """Multiply vectors by their factors; where a factor is 0, every entry becomes 0."""


class DenseTerms(ScaledTerms):
    """Explicit vectors, shape (n, dimension), which are overwritten."""

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
        """Return the vectors minus the vectors of `other`."""
        return DenseTerms(self._vectors - other._vectors)


class WeightedTerms(ScaledTerms):
    """Explicit short vectors, shape (n, k), summed by a product with clip factors."""

    _factors: FloatArray

    def __init__(self, vectors: FloatArray) -> None:
        self._vectors = vectors

    @property
    def width(self) -> int:
        """int : number of entries of a vector, k."""
        return self._vectors.shape[1]

    def square_norms(self) -> FloatArray:
        return _squares(self._vectors)

    def scale(self, factors: FloatArray) -> None:
        self._vectors[factors == 0.0] = 0.0
        self._factors = factors

    def add(self, total: FloatArray) -> None:
        total += self._factors @ self._vectors

    def less(self, other: WeightedTerms) -> WeightedTerms:
        """Return the scaled vectors minus the scaled vectors of `other`."""
        return WeightedTerms(self._factors[:, None] * self._vectors
                             - other._factors[:, None] * other._vectors)


class PassTerms(ScaledTerms):
    """Implicit gradients, computed from a forward and backward pass of a model."""

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
        """Return the scaled gradients minus those of `other`, in parts that do not cancel."""
        return PassTerms(self._passed.less(other._passed, self._factors, other._factors))


class JoinedTerms(ScaledTerms):
    """Gradients in a model's coordinates and extra variables, as joint vectors."""

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
        """Return the scaled vectors minus the scaled vectors of `other`."""
        (gradients, extra), (others, extras) = self._parts, other._parts
        return JoinedTerms(gradients.less(others), extra.less(extras))


def _squares(vectors: FloatArray) -> FloatArray:
    return np.einsum("ij,ij->i", vectors, vectors)

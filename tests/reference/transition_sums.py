"""Sums of clipped gradients of transitions in both blocks: sensitive, for oracles only.

The unit that is clipped is a transition, or a group: the sum of its transitions' gradients over
the horizon ``1 / (1 - gamma)``, so that the same clips suit both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import HEADROOM
from tests.reference.network_sums import bounded_factors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._models.states import ValuePass
    from dpsk._typing import Chosen, FloatArray, IntArray

__all__ = ["SemiGradientSums", "TransitionSums"]

#: Entries of a block of gradients.
_ENTRIES = 1 << 18


class TransitionSums:
    """Transitions and the sums of their clipped gradients, with the interface of `SaddleSums`."""

    def __init__(self, model: Any, loss: Any, rows: RowSource, primal_clip: float,
                 dual_clip: float) -> None:
        self.model, self.loss = model, loss
        self._rows = rows
        self._groups = None if rows.groups is None else rows.groups.members()
        self.n_samples = rows.n_units
        self.primal_size = model.dimension
        self.primal_clip, self.dual_clip = primal_clip, dual_clip
        self._length = max(1, _ENTRIES // model.dimension)

    def gradients(self, primal: FloatArray, dual: FloatArray,
                  rows: Chosen = None) -> tuple[FloatArray, FloatArray]:
        """Return the sums of clipped primal and dual gradients, float64, over units or all."""
        sums: Any = np.zeros(self.primal_size), np.zeros(self.primal_size)
        for indices, starts in self._blocks(rows):
            at = self._at(primal, indices, dual)
            sums[0][:] += self._clipped_sum(self._descents(*at, dual), starts, self.primal_clip)
            sums[1][:] += self._clipped_sum(_ascents(*at), starts, self.dual_clip)
        return sums

    def dual_gradient(self, primal: FloatArray, dual: FloatArray,
                      rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped dual gradients, like `dual`."""
        total = np.zeros(self.primal_size)
        for indices, starts in self._blocks(rows):
            ascents = _ascents(*self._at(primal, indices, dual))
            total += self._clipped_sum(ascents, starts, self.dual_clip)
        return total

    def differences(self, new: tuple[FloatArray, FloatArray], old: tuple[FloatArray, FloatArray],
                    clip: float, rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped differences of clipped primal gradients on the same units.

        `new` and `old` are (primal, dual) points.
        """
        total = np.zeros(self.primal_size)
        for indices, starts in self._blocks(rows):
            there, here = (clipped(self._grouped(self._descents(
                *self._at(primal, indices, dual), dual), starts), self.primal_clip)
                for primal, dual in (new, old))
            total += clipped(there - here, clip).sum(axis=0)
        return total

    def _blocks(self, units: Any) -> Iterator[tuple[IntArray, IntArray | None]]:
        """Yield the transitions of blocks of units, and where each group of them starts."""
        if self._groups is None:
            for part in self._rows.parts(self._length, units):
                yield part, None
            return
        chosen = self._groups if units is None else [self._groups[unit] for unit in units]
        lengths = np.array([len(group) for group in chosen], dtype=int)
        ends = np.cumsum(lengths)
        # A new block where another stretch of transitions begins.
        cuts = np.flatnonzero(np.diff(ends // self._length)) + 1
        for part in np.split(np.arange(len(chosen)), cuts):
            if len(part):
                first = ends[part] - lengths[part]
                yield np.concatenate([chosen[i] for i in part]), first - first[0]

    def _at(self, primal: FloatArray, indices: IntArray,
            dual: FloatArray | None = None) -> tuple[Any, Any, Any, Any, FloatArray]:
        """Return two passes, what of the next value counts, and what of a gradient is left.

        The last two are ``<grad V(s), w>``, 0 without a dual vector, and the difference less it.
        """
        block, width = self._rows.take(indices), self.model.n_features
        rewards, alive = block.y[:, 0], block.y[:, 1]
        now = self.model.passed(primal, block.X[:, :width])
        later = self.model.passed(primal, block.X[:, width:])
        kept = self.loss.gamma * alive
        products = 0.0 if dual is None else now.gradients @ dual
        return now, later, kept, products, (
            rewards + kept * later.values - now.values - products)

    @staticmethod
    def _descents(now: Any, later: ValuePass, kept: FloatArray, products: FloatArray,
                  left: FloatArray, dual: FloatArray) -> FloatArray:
        """Return the gradients of transitions in theta, shape (n, dimension)."""
        found = later.gradients * (kept * products)[:, None]
        found -= now.gradients * products[:, None]
        if now.turned is not None:
            found += left[:, None] * now.turned(dual)
        return found

    def _clipped_sum(self, vectors: FloatArray, starts: IntArray | None,
                     clip: float) -> FloatArray:
        return clipped(self._grouped(vectors, starts), clip).sum(axis=0)

    def _grouped(self, vectors: FloatArray, starts: IntArray | None) -> FloatArray:
        """Return what groups add, or the rows where there are none."""
        if starts is None:
            return vectors
        return (1.0 - self.loss.gamma) * np.add.reduceat(vectors, starts, axis=0)


def _ascents(now: ValuePass, later: ValuePass, kept: FloatArray, products: FloatArray | float,
             left: FloatArray) -> FloatArray:
    """Return the gradients of transitions in w, shape (n, dimension)."""
    return left[:, None] * now.gradients


class SemiGradientSums(TransitionSums):
    """Transitions and the sums of ``(V(s) - r - gamma V(s')) grad V(s)``, clipped.

    That is the gradient of half the squared difference, but for the next value, which is taken as
    given. The interface is that of `NetworkSums`.
    """

    resolution = None
    arithmetic = "float"

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float) -> None:
        super().__init__(model, loss, rows, clip_norm, clip_norm)
        self.clip_norm, self.rounding_terms = clip_norm, model.rounding_terms

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped semi-gradients over units or all, float64, like theta."""
        total = np.zeros(self.primal_size)
        for indices, starts in self._blocks(rows):
            total -= self._clipped_sum(_ascents(*self._at(theta, indices)), starts,
                                       self.clip_norm)
        return total


def clipped(vectors: FloatArray, clip_norm: float) -> FloatArray:
    """Return rows scaled down to a norm, in place; those that are not finite become zero."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    factors = bounded_factors(squares, clip_norm, HEADROOM)
    vectors *= factors[:, None]
    vectors[factors == 0.0] = 0.0
    return vectors

"""Sums of clipped gradients of transitions; sensitive, for oracles only.

The clipped vector is the gradient of a transition or, with groups, the sum of the gradients of a
group's transitions divided by the horizon ``1 / (1 - gamma)``. So the same clip norms suit both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._sums.block_sums import BlockSums
from dpsk._sums.clip import Clip
from dpsk._sums.clipped_sums import ClippedSums
from dpsk._sums.terms import DenseTerms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._models.states import ValuePass
    from dpsk._typing import Chosen, FloatArray, IntArray

__all__ = ["SemiGradientSums", "TransitionSums"]

#: Entries of a block of gradients.
_ENTRIES = 1 << 18


class Transitions:
    """Transitions, single or in groups, and their derivatives."""

    def __init__(self, model: Any, loss: Any, rows: RowSource) -> None:
        self._model, self._gamma, self._rows = model, loss.gamma, rows
        self._groups = None if rows.groups is None else rows.groups.members()
        self._length = max(1, _ENTRIES // model.dimension)

    def blocks(self, units: Any) -> Iterator[tuple[IntArray, IntArray | None]]:
        """Yield the transitions' indices in each block, and where its groups start."""
        if self._groups is None:
            for part in self._rows.parts(self._length, units):
                yield part, None
            return
        chosen = self._groups if units is None else [self._groups[unit] for unit in units]
        lengths = np.array([len(group) for group in chosen], dtype=int)
        ends = np.cumsum(lengths)
        # A block begins at the group in which the count passes a multiple of the length.
        cuts = np.flatnonzero(np.diff(ends // self._length)) + 1
        for part in np.split(np.arange(len(chosen)), cuts):
            if len(part):
                first = ends[part] - lengths[part]
                yield np.concatenate([chosen[i] for i in part]), first - first[0]

    def at(self, primal: FloatArray, indices: IntArray,
           dual: FloatArray | None = None) -> tuple[Any, Any, Any, Any, FloatArray]:
        """Return passes at both states, discounts of the next values, and two arrays.

        These are ``<grad V(s), w>``, 0 without a dual vector w, and the temporal differences
        minus it.
        """
        block, width = self._rows.take(indices), self._model.n_features
        rewards, alive = block.y[:, 0], block.y[:, 1]
        now = self._model.passed(primal, block.X[:, :width])
        later = self._model.passed(primal, block.X[:, width:])
        kept = self._gamma * alive
        products = 0.0 if dual is None else now.gradients @ dual
        return now, later, kept, products, (
            rewards + kept * later.values - now.values - products)

    def terms(self, vectors: FloatArray, starts: IntArray | None) -> DenseTerms:
        """Return the terms of transitions, or of the groups that begin at `starts`."""
        if starts is None:
            return DenseTerms(vectors)
        return DenseTerms((1.0 - self._gamma) * np.add.reduceat(vectors, starts, axis=0))


class TransitionSums(BlockSums):
    """Sums of the transitions' clipped gradients in the primal and in the dual block."""

    def __init__(self, model: Any, loss: Any, rows: RowSource, primal_clip: float,
                 dual_clip: float) -> None:
        super().__init__(model, loss, rows.n_units, model.dimension,
                         (Clip(primal_clip), Clip(dual_clip)))
        self._transitions = Transitions(model, loss, rows)

    def blocks(self, rows: Chosen) -> Iterator[tuple[IntArray, IntArray | None]]:
        return self._transitions.blocks(rows)

    def terms(self, block: Any, primal: FloatArray, dual: FloatArray) -> Iterator[DenseTerms]:
        indices, starts = block
        at = self._transitions.at(primal, indices, dual)
        yield self._transitions.terms(_descents(*at, dual), starts)
        yield self._transitions.terms(_ascents(*at), starts)

    def dual_terms(self, block: Any, primal: FloatArray, dual: FloatArray) -> DenseTerms:
        indices, starts = block
        ascents = _ascents(*self._transitions.at(primal, indices, dual))
        return self._transitions.terms(ascents, starts)


class SemiGradientSums(ClippedSums):
    """Sums of clipped semi-gradients ``(V(s) - r - gamma V(s')) grad V(s)``.

    This is the gradient of half the squared temporal difference with the next value held fixed.
    """

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float) -> None:
        super().__init__(model, loss, rows.n_units, Clip(clip_norm))
        self._transitions = Transitions(model, loss, rows)

    def terms(self, theta: FloatArray, rows: Chosen) -> Iterator[DenseTerms]:
        for indices, starts in self._transitions.blocks(rows):
            ascents = _ascents(*self._transitions.at(theta, indices))
            yield self._transitions.terms(-ascents, starts)


def _descents(now: Any, later: ValuePass, kept: FloatArray, products: FloatArray,
              left: FloatArray, dual: FloatArray) -> FloatArray:
    """Return the transitions' gradients with respect to theta, shape (n, dimension)."""
    found = later.gradients * (kept * products)[:, None]
    found -= now.gradients * products[:, None]
    if now.turned is not None:
        found += left[:, None] * now.turned(dual)
    return found


def _ascents(now: ValuePass, later: ValuePass, kept: FloatArray, products: FloatArray | float,
             left: FloatArray) -> FloatArray:
    """Return the transitions' gradients with respect to w, shape (n, dimension)."""
    return left[:, None] * now.gradients

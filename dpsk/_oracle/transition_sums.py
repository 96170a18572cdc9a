"""Sums of clipped gradients of transitions in both blocks: sensitive, for oracles only.

The unit that is clipped is a transition, or a group: the sum of its transitions' gradients over
the horizon ``1 / (1 - gamma)``, so that the same clips suit both.
"""

import numpy as np

from dpsk._models.clipping import HEADROOM
from dpsk._oracle.network_sums import bounded_factors

__all__ = ["TransitionSums", "group_parts"]

#: Columns of targets before that of groups: the reward over its bound, and 1, or 0 at the end.
_COLUMNS = 2
#: Entries of a block of gradients.
_ENTRIES = 1 << 18


class TransitionSums:
    """Transitions and the sums of their clipped gradients, with the interface of `SaddleSums`."""

    def __init__(self, model, loss, rows, primal_clip, dual_clip):
        self.model, self.loss = model, loss
        self._rows, self._groups = rows, group_parts(rows)
        self.n_samples = len(rows) if self._groups is None else len(self._groups)
        self.primal_size = model.dimension
        self.primal_clip, self.dual_clip = primal_clip, dual_clip
        self._length = max(1, _ENTRIES // model.dimension)

    def gradients(self, primal, dual, rows=None):
        """Return the sums of clipped primal and dual gradients, float64, over units or all."""
        sums = np.zeros(self.primal_size), np.zeros(self.primal_size)
        for indices, starts in self._blocks(rows):
            parts = self._differentiated(primal, dual, indices)
            for total, part, clip in zip(sums, parts, (self.primal_clip, self.dual_clip),
                                         strict=True):
                total += clipped(self._grouped(part, starts), clip).sum(axis=0)
        return sums

    def dual_gradient(self, primal, dual, rows=None):
        """Return the sum of clipped dual gradients, like `dual`."""
        return self.gradients(primal, dual, rows)[1]

    def differences(self, new, old, clip, rows=None):
        """Return the sum of clipped differences of clipped primal gradients on the same units.

        `new` and `old` are (primal, dual) points.
        """
        total = np.zeros(self.primal_size)
        for indices, starts in self._blocks(rows):
            there, here = (clipped(
                self._grouped(self._differentiated(*point, indices)[0], starts),
                self.primal_clip) for point in (new, old))
            total += clipped(there - here, clip).sum(axis=0)
        return total

    def _blocks(self, units):
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

    def _differentiated(self, primal, dual, indices):
        """Return the gradients of transitions in both blocks, shape (n, dimension) each."""
        block, width = self._rows.take(indices), self.model.n_features
        rewards, alive = block.y[:, 0], block.y[:, 1]
        now = self.model.passed(primal, block.X[:, :width])
        later = self.model.passed(primal, block.X[:, width:])
        kept = self.loss.gamma * alive
        products = now.gradients @ dual
        left = rewards + kept * later.values - now.values - products
        ascent = left[:, None] * now.gradients
        descent = later.gradients * (kept * products)[:, None]
        descent -= now.gradients * products[:, None]
        if now.turned is not None:
            descent += left[:, None] * now.turned(dual)
        return descent, ascent

    def _grouped(self, vectors, starts):
        """Return what groups add, or the rows where there are none."""
        if starts is None:
            return vectors
        return (1.0 - self.loss.gamma) * np.add.reduceat(vectors, starts, axis=0)


def clipped(vectors, clip_norm):
    """Return rows scaled down to a norm, in place; those that are not finite become zero."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    factors = bounded_factors(squares, clip_norm, HEADROOM)
    vectors *= factors[:, None]
    vectors[factors == 0.0] = 0.0
    return vectors


def group_parts(rows):
    """Return the indices of the rows of every group, sensitive; None where rows have none."""
    y = rows.take(slice(0, len(rows))).y
    if y.shape[1] == _COLUMNS:
        return None
    codes = y[:, _COLUMNS]
    order = np.argsort(codes, kind="stable")
    return np.split(order, 1 + np.flatnonzero(np.diff(codes[order])))

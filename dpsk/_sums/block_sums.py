"""Base class of sums of clipped gradients in both blocks of a saddle problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dpsk._sums.clip import Clip
from dpsk._sums.terms import clipped_sum

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from dpsk._sums.terms import Terms
    from dpsk._typing import Chosen, FloatArray

__all__ = ["BlockSums"]


class BlockSums(ABC):
    """Base class of sums of clipped primal and dual gradients.

    The primal and the dual gradient of a privacy unit are clipped separately.

    Parameters
    ----------
    model, loss : object
    n_samples : int
        The public number of privacy units in the whole sum.
    primal_size : int
    clips : tuple of Clip
        The clips of the primal and of the dual gradients.
    """

    def __init__(self, model: Any, loss: Any, n_samples: int, primal_size: int,
                 clips: tuple[Clip, Clip]) -> None:
        self.model, self.loss, self.n_samples = model, loss, n_samples
        self.primal_size, self._clips = primal_size, clips

    @property
    def primal_clip(self) -> float:
        """float : bound on the norm of a privacy unit's gradient before the loss's weight."""
        return self._clips[0].norm

    def primal_bound(self, dual: FloatArray) -> float:
        """Return the bound on a privacy unit's term in a primal sum at a public dual point."""
        return self.primal_clip

    @property
    def dual_clip(self) -> float:
        """float : bound on the norm of a privacy unit's term in a dual sum."""
        return self._clips[1].norm

    def gradients(self, primal: FloatArray, dual: FloatArray,
                  rows: Chosen = None) -> tuple[FloatArray, FloatArray]:
        """Return the sums of clipped primal and dual gradients, float64.

        The shapes are (primal_size,) and (loss.dual_set.size,). `rows` are the indices of the
        privacy units to sum over; None for all.
        """
        sums = np.zeros(self.primal_size), np.zeros(self.loss.dual_set.size)
        for block in self.blocks(rows):
            both = self.terms(block, primal, dual)
            for terms, rule, total in zip(both, self._clips, sums, strict=True):
                clipped_sum([terms], rule, total)
        return sums

    def dual_gradient(self, primal: FloatArray, dual: FloatArray,
                      rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped dual gradients, of the shape of `dual`."""
        terms = (self.dual_terms(block, primal, dual) for block in self.blocks(rows))
        return clipped_sum(terms, self._clips[1], np.zeros(self.loss.dual_set.size))

    def differences(self, new: tuple[FloatArray, FloatArray], old: tuple[FloatArray, FloatArray],
                    clip: float, rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped differences of clipped primal gradients, float64.

        Each difference is between the gradients of one unit at the (primal, dual) points `new`
        and `old`.
        """
        rule = Clip(clip, single=self._clips[0].single)
        return clipped_sum(self._changes(new, old, rows), rule, np.zeros(self.primal_size))

    def _changes(self, new: Any, old: Any, rows: Chosen) -> Iterator[Terms]:
        for block in self.blocks(rows):
            there, here = (next(iter(self.terms(block, *point))) for point in (new, old))
            for terms in (there, here):
                terms.clip(self._clips[0])
            # Subtract per unit: a difference of sums would carry rounding errors of gradients.
            yield there.less(here)

    @abstractmethod
    def blocks(self, rows: Chosen) -> Iterable[Any]:
        """Yield blocks of privacy units, in the form that `terms` takes."""

    @abstractmethod
    def terms(self, block: Any, primal: FloatArray, dual: FloatArray) -> Iterable[Any]:
        """Yield the primal gradients of a block, then its dual gradients."""

    @abstractmethod
    def dual_terms(self, block: Any, primal: FloatArray, dual: FloatArray) -> Terms:
        """Return only the dual gradients of a block."""

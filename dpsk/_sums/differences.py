"""Sums of clipped differences of a linear model's gradients, for oracles only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._sums.clip import Clip
from dpsk._sums.float_entry import FloatEntry
from dpsk._sums.linear_sums import LinearSums
from dpsk._sums.terms import clipped_sum

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._sums.linear_sums import LinearTerms
    from dpsk._typing import Chosen, FloatArray

__all__ = ["DifferenceSums"]

_ROUNDING = 1.0 + 2.0**-40
_LEAST_SHARE = 2.0**-30


class DifferenceSums(LinearSums):
    """Sums of clipped gradients, and of clipped differences of clipped gradients.

    The object keeps the derivatives of all rows at the latest anchor, so that a difference needs
    predictions at one point only.
    """

    _anchor = None

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float,
                 n_samples: int | None = None) -> None:
        super().__init__(loss, FloatEntry(model, rows, Clip(clip_norm), n_samples))

    def bound(self, theta: FloatArray, anchor: FloatArray) -> float:
        """Return the public bound on the norm of one row's difference; 0 at the anchor."""
        if theta.tobytes() == anchor.tobytes():
            return 0.0
        largest = self.loss.gradient_diameter * self.clip_norm
        move = theta - anchor
        smooth = self.smoothness * math.sqrt(np.vdot(move, move)) * _ROUNDING
        # Where `smooth` overflows, the comparison is false and the clips give the bound.
        bound = smooth if smooth < largest else largest
        return max(bound, _LEAST_SHARE * self.clip_norm)

    def anchor_gradient(self, anchor: FloatArray) -> FloatArray:
        """Return the sum of clipped gradients at `anchor`, and keep the derivatives."""
        total, derivatives = self.zeros(), []
        for gradients in self.terms(anchor, None):
            gradients.clip(self.clip)
            derivatives.append(gradients.derivatives.copy())
            gradients.add(total)
        self._anchor = anchor.copy()
        # A location may have no rows.
        self._at_anchor = np.concatenate(derivatives) if derivatives else np.empty(0)
        return total

    def difference_anew(self, theta: FloatArray, anchor: FloatArray, bound: float,
                        rows: Chosen = None) -> FloatArray:
        """Return `difference`, after computing the anchor's gradient if it is not stored."""
        if not self._holds(anchor):
            self.anchor_gradient(anchor)
        return self.difference(theta, anchor, bound, rows)

    def difference(self, theta: FloatArray, anchor: FloatArray, bound: float,
                   rows: Chosen = None) -> FloatArray:
        """Return the sum of differences ``gradient(theta) - gradient(anchor)``, float64.

        Both gradients of a row are multiples of the row. Their difference is clipped to the norm
        `bound` by clipping the difference of the derivatives. `rows` are indices; None for all.
        Raises a ValueError if `anchor` is not the point of the last `anchor_gradient`.
        """
        if not self._holds(anchor):
            raise ValueError("anchor: not the point of the last gradient that was asked for; ask "
                             "for the gradient at an anchor before differences from it.")
        return clipped_sum(self._changes(theta, rows), Clip(bound), self.zeros())

    def _changes(self, theta: FloatArray, rows: Chosen) -> Iterator[LinearTerms]:
        """Yield clipped gradients at a point minus clipped gradients at the anchor."""
        blocks = self.entry.blocks(rows)
        for block, gradients in zip(blocks, self.terms(theta, rows), strict=True):
            gradients.clip(self.clip)
            yield gradients.less(self._at_anchor[block])

    def _holds(self, anchor: FloatArray) -> bool:
        return self._anchor is not None and anchor.tobytes() == self._anchor.tobytes()

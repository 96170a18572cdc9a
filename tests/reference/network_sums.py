"""Sums of clipped per-sample gradients of a network: sensitive, and for oracles only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.source import Block
from dpsk._models.clipping import clip_factors
from tests.reference.whole_sums import WholeSums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import FloatArray

__all__ = ["SHORT_BLOCK", "SINGLE_HEADROOM", "NetworkSums", "bounded_factors"]

#: Rows of one pass: float32 sums over more would lose more than the head-room.
SHORT_BLOCK = 512
#: Margin for the rounding of single-precision norms and sums, and for how a row can change it.
SINGLE_HEADROOM = 1.0 - 2.0**-8
#: Groups whose rows are added up apart from others', which do not change with a group's size. In
#: single precision a sum is off by at most ``512 2^-24`` of the sum of norms: of two tables' sums
#: over so many groups that is 2^-9 of the clip norm, within the margin.
_GROUPS_APART = 32
#: Rows of one pass where their number is secret, neither more nor fewer, and in products that are
#: alike for all of them: in others, or where groups before it are longer, a row may round
#: otherwise, and a slope or a sign beside zero be another one.
_GROUPED_ROWS = 128
#: Longer gradients could overflow a float32 sum of a block; smaller factors lose bits in it.
_LONGEST, _LEAST_FACTOR = 2.0**100, float(np.finfo(np.float32).tiny)


class NetworkSums(WholeSums):
    """Rows, targets and the clipped gradient sums over them.

    No (n, dimension) array is made: a row's norm follows from its activations and errors, and
    the clip scales its errors before they meet the activations in one product. Of a group of k
    rows every gradient is clipped to the norm and enters over k.

    Parameters
    ----------
    model : MLP
    loss : Loss
    rows : RowSource
        Dense.
    n_samples : int or None
        The public number of rows, or of groups, of the whole sum, where `rows` are some of them.
    clip_norm : float
        Finite; a row whose gradient is not finite enters as zero.
    """

    resolution = None
    arithmetic = "float"

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float,
                 n_samples: int | None = None) -> None:
        self.model = model
        self.loss = loss
        self.n_samples = n_samples or rows.n_units
        self._rows = rows
        self._clip_norm = clip_norm

    def rounding_terms(self, n_rows: float) -> float:
        """Return the `terms` of a part of an answer that sums over `n_rows`."""
        return self.model.rounding_terms(n_rows)

    @property
    def clip_norm(self) -> float:
        """float : bound on the norm of one row's gradient."""
        return self._clip_norm

    def gradient(self, theta: FloatArray, rows: Any = None) -> FloatArray:
        """Return the sum of clipped gradients over the rows, or groups, of some indices; float64.

        None for all of them.
        """
        total = np.zeros(self.model.shape)
        theta = theta.astype(np.float32)
        if self._rows.groups is None:
            self._add_all(theta, rows, total)
            return total
        units = np.arange(self.n_samples) if rows is None else rows
        for start in range(0, len(units), _GROUPS_APART):
            apart = np.zeros(self.model.shape)
            self._add_all(theta, units[start:start + _GROUPS_APART], apart)
            total += apart
        return total

    def _add_all(self, theta: FloatArray, rows: Any, total: FloatArray) -> None:
        """Add the clipped gradients of the rows or groups of some indices, or of all."""
        groups = self._rows.groups
        if groups is None:
            for part in self._rows.parts(SHORT_BLOCK, rows):
                self._add(theta, self._rows.take(part), self._clip_norm, total)
            return
        for part in self._rows.parts(_GROUPED_ROWS, rows):
            filled = np.resize(part, _GROUPED_ROWS)
            block: Any = self._rows.take(filled)
            X, y, weights = block
            # Rows that fill a pass up add nothing.
            weights[len(part):] = 0.0
            self._add(theta, Block(X, y, weights), self._clip_norm / groups.sizes[filled], total)

    def _add(self, theta: FloatArray, rows: Block, clip_norm: float, total: FloatArray) -> None:
        """Add the gradients of a block of rows, clipped at a norm each."""
        alike = {} if self._rows.groups is None else {"alike": True}
        forward = self.model.forward(theta, rows.X, **alike)
        dz = self.loss.gradient(rows.y, forward.raw.copy())
        weights = rows.weights
        if weights is not None:
            dz *= weights if dz.ndim == 1 else weights[:, None]
        forward.backward(dz)
        factors = bounded_factors(forward.square_norms(), clip_norm)
        forward.drop(factors == 0.0)
        forward.add_gradient(factors, total)


def bounded_factors(square_norms: FloatArray, clip_norm: float,
                    headroom: float = SINGLE_HEADROOM) -> FloatArray:
    """Return what scales gradients to norm at most `clip_norm`, and at most 2^100.

    It is zero for those that are not finite, or too long for a factor of full precision.
    """
    with np.errstate(all="ignore"):
        norms = np.sqrt(square_norms)
    return clip_factors(norms, np.minimum(clip_norm, _LONGEST) * headroom, _LEAST_FACTOR)

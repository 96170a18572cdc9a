"""Sums over groups of rows: averages of clipped gradients, clipped themselves, for oracles only.

What a group adds is a function of its own rows and of the public point, to the last bit: products
are made row by row, in the order of their entries, so that no row rounds otherwise beside others.
Sums over groups therefore round as sums over as many rows do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of
from dpsk._data.norms import row_norms
from dpsk._models import ScaleModel, WhitenedModel
from dpsk._models.clipping import HEADROOM, SHORTEST, clip_factors
from dpsk._models.products import product_by_row
from tests.reference.row_sums import RowSums

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import Chosen, Features, FloatArray, IntArray

__all__ = ["GroupSums"]

#: Entries of rows, and of averages, that are held at a time.
_ENTRIES = 1 << 18
#: Sparse rows are that many at least.
_CSR_ROWS = 1 << 12


class GroupSums(RowSums):
    """Row sums of a linear model over whole groups, of any number of rows.

    Parameters
    ----------
    model : LinearModel
    loss : Loss
    rows : Rows
        In groups.
    row_clip : float
        Bound on the norm of one row's gradient.
    clip_norm : float
        Bound on the norm of what a group adds: of the average of its rows' clipped gradients.
    """

    def __init__(self, model: Any, loss: Any, rows: RowSource, row_clip: float,
                 clip_norm: float) -> None:
        self._indices, self._width = np.empty(0, np.int32), 0
        # No average is longer than the longest gradient.
        self._group_clip = min(clip_norm, row_clip)
        super().__init__(model, loss, rows, row_clip)

    @property
    def clip_norm(self) -> float:
        """float : bound on the norm of what a group adds."""
        return self._group_clip

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return the sum of the averages of groups, float64, shape of theta.

        `rows` are the indices of the groups to sum over; None for all.
        """
        total = np.zeros(self.model.shape)
        columns = total.reshape(len(total), -1).T
        for averages, factors in self._contributions(theta, rows):
            for column, (features, constants) in zip(columns, averages, strict=True):
                width = features.shape[1]
                column[:width] += features.T @ factors
                if len(column) > width:
                    column[width] += constants @ factors
        return total

    def curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Raise a RuntimeError: a bound on rows' curvatures says nothing of clipped averages."""
        raise _refusal("curvature")

    def curvature_bound(self, bound: float) -> tuple[float, int]:
        """Raise a RuntimeError, as `curvature` does."""
        raise _refusal("curvature_bound")

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Raise a RuntimeError: what is summed is the gradient of no loss."""
        raise _refusal("hessian")

    def require_monotone(self) -> None:
        """Raise a ValueError: a group's clipped average is the gradient of no convex loss."""
        raise ValueError("groups: averages that are clipped are gradients of no convex loss; use "
                         "solver='gd' or 'sgd', or groups=None.")

    def _contributions(self, theta: FloatArray, rows: Chosen = None) -> Iterator[Any]:
        """Yield, block by block, the averages of groups as `_averages` does, and their factors."""
        units = np.arange(self.n_samples) if rows is None else rows
        for indices, ends in self._whole_groups(units):
            part = self._take(indices)
            dz = self._derivatives(theta, part)
            averages = list(self._averages(dz.reshape(len(dz), -1), part, ends))
            squares = sum(np.square(row_norms(features)) + np.square(constants)
                          for features, constants in averages)
            # The squares of shorter averages underflow: those are not longer than this.
            norms = np.maximum(np.sqrt(squares), SHORTEST)
            yield averages, clip_factors(norms, self.clip_norm * HEADROOM)

    def _averages(self, dz: FloatArray, part: Any, ends: IntArray) -> Iterator[Any]:
        """Yield for every column of theta what groups add before their clip: rows, and constants.
        """
        X, _, scale, _, _ = part
        none = np.zeros(len(ends) - 1)
        if isinstance(self.model, ScaleModel):
            yield sum(_weighted(slopes * scale, ends) @ X[:, k:k + 1]
                      for k, slopes in enumerate(dz.T)), none
            return
        if isinstance(self.model, WhitenedModel):
            own, constants = scale.T
            for slopes in dz.T:
                found = _weighted(slopes * own, ends) @ X
                found = found.toarray() if sparse.issparse(found) else found
                if self.model.rows.fit_intercept:
                    ones = _weighted(slopes, ends) @ constants
                    found = np.column_stack([found, ones])
                yield product_by_row(found, self.model.matrix), none
            return
        every = np.ones(len(dz))
        for slopes in dz.T:
            ones = _weighted(slopes, ends) @ every if self.model.fit_intercept else none
            yield _weighted(slopes * scale, ends) @ X, ones

    def _whole_groups(self, units: Any) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows of some groups and where each of these starts, block by block."""
        ends = np.cumsum(self._rows.groups.lengths(units))
        # A new block where another stretch of rows begins; longer groups are one by themselves.
        cuts = np.flatnonzero(np.diff(ends // self._block)) + 1
        for part in np.split(np.arange(len(units)), cuts):
            if len(part):
                inside = ends[part] - (ends[part[0] - 1] if part[0] else 0)
                yield self._rows.groups.rows_of(units[part]), np.append(0, inside)

    def _block_size(self) -> int:
        rows = self._rows
        if rows.is_sparse:
            return max(_CSR_ROWS, rows.n_features)
        return max(1, _ENTRIES // max(rows.n_features, self.model.dimension))

    def _row_scales(self, X: Features) -> tuple[FloatArray, FloatArray]:
        # Single precision is converted in pieces that follow the place of a row.
        X = X if sparse.issparse(X) else np.ascontiguousarray(X, np.float64)
        if isinstance(self.model, WhitenedModel):
            return self.model.row_scales(X, alike=True)
        return self.model.row_scales(X)

    def _predict(self, point: FloatArray, X: Features, scale: Any) -> FloatArray:
        if isinstance(self.model, ScaleModel):
            # Entry by entry: there is no product of matrices.
            return self.model.predict_raw(point, X, scale)
        raw = np.empty((X.shape[0], *self.model.shape[1:]))
        for start in range(0, len(raw), self._block):
            part = slice(start, start + self._block)
            raw[part] = self.model.predict_raw(point, self._csr(X[part]), scale[part])
        return raw

    def _csr(self, X: Features) -> Features:
        """Return a CSR matrix with every entry of X, or X itself if it is one.

        Its products go row by row and entry by entry. Those of dense matrices add up in an order
        that depends on the shape of both, and on where in them a row is.
        """
        if sparse.issparse(X):
            return X
        n, width = X.shape
        if len(self._indices) < n * width or self._width != width:
            self._indices, self._width = np.tile(np.arange(width, dtype=np.int32), n), width
        return csr_of(np.ascontiguousarray(X).ravel(), self._indices[:n * width],
                      np.arange(n + 1, dtype=np.int32) * np.int32(width), width)


def _refusal(what: str) -> RuntimeError:
    return RuntimeError(f"GroupSums has no {what}: it is bounded for rows, and a group's rows are "
                        "averaged and clipped again; ask sums over rows.")


def _weighted(weights: FloatArray, ends: IntArray) -> Features:
    """Return the matrix that adds up weighted rows from each of `ends` to the next."""
    return csr_of(weights, np.arange(len(weights), dtype=np.int32), ends.astype(np.int32),
                  len(weights))

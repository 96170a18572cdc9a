"""Sums over groups, for oracles only: clipped averages of clipped gradients.

A group's term depends only on its own rows and the public point, to the last bit. Products are
computed row by row, in the order of their entries or in tiles, so that the rounding of a row does
not depend on other rows. A sum over n groups therefore rounds as a sum over n rows does.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from dpsk._data.blocks import csr_of
from dpsk._data.norms import row_norms
from dpsk._models import ScaleModel, WhitenedModel
from dpsk._models.products import product_by_row
from dpsk._sums.clip import Clip
from dpsk._sums.float_entry import FloatEntry, Part
from dpsk._sums.linear_sums import LinearSums
from dpsk._sums.terms import ScaledTerms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from dpsk._data.source import Block, RowSource
    from dpsk._typing import AnyArray, Chosen, Features, FloatArray, IntArray

__all__ = ["GroupSums"]

#: Entries of rows, and of averages, in memory at a time.
_ENTRIES = 1 << 18
#: Least number of sparse rows in a block.
_CSR_ROWS = 1 << 12
#: Entries of dense rows that are kept in the order of groups, for passes over all groups.
_KEPT_ENTRIES = 1 << 21
_NONE = np.empty(0)


class WholeGroups(NamedTuple):
    """Rows of some groups, one group after another.

    `places` are the positions of the rows in the table sorted by group; for passes over all
    groups, a slice. `adder` is a CSR matrix without weights; with weights, its product with rows
    sums them by group. `read` holds features, targets and weights that are kept, or None.
    """

    places: Any
    adder: Any
    read: Block | None = None

    def sums(self, weights: FloatArray, X: Features) -> Features:
        """Return the sum of the weighted rows of every group, added in their order."""
        self.adder.data = weights
        total = self.adder @ X
        # The adder is kept from pass to pass; weights would take one more number per row.
        self.adder.data = _NONE
        return total


class GroupEntry(FloatEntry):
    """Rows of whole groups; the rounding of a row does not depend on other rows.

    Scales and limits are sorted by group.
    """

    def __init__(self, model: Any, rows: RowSource, clip: Clip) -> None:
        self._columns, self._pointers, self._every = np.empty((3, 0), np.int32)
        super().__init__(model, rows, clip)
        order = self.rows.groups.order
        self._limits = self._limits[order]
        # Column-major, since passes read one column at a time.
        self._scale = np.asfortranarray(self._scale.take(order, axis=0))

    def whole_groups(self, chosen: Chosen) -> Iterable[WholeGroups]:
        """Return the rows of some groups, or of all, block by block."""
        return self._all_groups if chosen is None else self._some_groups(chosen)

    def _some_groups(self, units: Any) -> Iterator[WholeGroups]:
        for part, ends in self._cut_groups(units):
            yield WholeGroups(self.rows.groups.places_of(units[part]), self._adder(ends))

    @cached_property
    def _all_groups(self) -> list[WholeGroups]:
        """list : blocks of all groups; the first blocks keep their rows in memory."""
        blocks, start, kept = [], 0, 0
        for _, ends in self._cut_groups(np.arange(self.n_samples)):
            places, start = slice(start, start + ends[-1]), start + ends[-1]
            kept += ends[-1] * self.rows.n_features
            keeps = kept <= _KEPT_ENTRIES and not self.rows.is_sparse
            blocks.append(WholeGroups(
                places, self._adder(ends), self._read(places) if keeps else None))
        return blocks

    def _cut_groups(self, units: Any) -> Iterator[tuple[slice, IntArray]]:
        """Yield slices of groups with about a block of rows, and the groups' first rows."""
        ends = np.cumsum(self.rows.groups.lengths(units))
        # A block begins at the group in which the row count passes a multiple of the length.
        cuts = np.flatnonzero(np.diff(ends // self._block)) + 1
        first, start = 0, 0
        for last in (*cuts, len(units)):
            if last > first:
                inside = ends[first:last] - start
                yield slice(first, last), np.append(0, inside).astype(np.int32)
                first, start = last, ends[last - 1]

    def _adder(self, ends: IntArray) -> Any:
        """Return the matrix whose products sum the rows from each of `ends` to the next."""
        if len(self._every) < ends[-1]:
            self._every = np.arange(ends[-1], dtype=np.int32)
        return csr_of(_NONE, self._every[:ends[-1]], ends, int(ends[-1]))

    def take(self, block: WholeGroups) -> Part:
        X, y, weights = block.read or self._read(block.places)
        X = X if X.dtype == np.float64 else X.astype(np.float64)
        scale, limits = ((self._scale[block.places], self._limits[block.places])
                         if isinstance(block.places, slice) else
                         (self._scale.take(block.places, axis=0),
                          self._limits.take(block.places)))
        return Part(X, y, scale, limits, weights)

    def placed(self) -> Iterator[tuple[Any, Part]]:
        order = self.rows.groups.order
        return ((order[block.places], self.take(block)) for block in self.whole_groups(None))

    def _read(self, places: Any) -> Block:
        return self.rows.take(self.rows.groups.order[places])

    def predict(self, point: AnyArray, part: Part) -> FloatArray:
        X, scale = part.X, part.scale
        if isinstance(self.model, ScaleModel):
            # This model multiplies entry by entry, without matrix products.
            return self.model.predict_raw(point, X, scale)
        raw = np.empty((X.shape[0], *self.model.shape[1:]))
        for start in range(0, len(raw), self._block):
            some = slice(start, start + self._block)
            raw[some] = self.model.predict_raw(point, self.csr(X[some]), scale[some])
        return raw

    def averages(self, dz: FloatArray, part: Part, block: WholeGroups) -> Iterator[Any]:
        """Yield unclipped averages of features and of constants for each theta column.
        """
        X, scale = part.X, part.scale
        none = np.zeros(block.adder.shape[0])
        if isinstance(self.model, ScaleModel):
            yield sum(block.sums(slopes * scale, X[:, k:k + 1])
                      for k, slopes in enumerate(dz.T)), none
            return
        if isinstance(self.model, WhitenedModel):
            own, constants = scale.T
            for slopes in dz.T:
                found = block.sums(slopes * own, X)
                found = found.toarray() if sparse.issparse(found) else found
                if self.model.rows.fit_intercept:
                    found = np.column_stack([found, block.sums(slopes, constants)])
                yield product_by_row(found, self.model.matrix), none
            return
        every = np.ones(len(dz))
        for slopes in dz.T:
            ones = block.sums(slopes, every) if self.model.fit_intercept else none
            yield block.sums(slopes * scale, X), ones

    def csr(self, X: Features) -> Features:
        """Return X as a CSR matrix that stores every entry, or X itself if it is sparse.

        CSR products are computed row by row and entry by entry. Dense products add in an order
        that depends on the shapes of both matrices and on the position of a row.
        """
        if sparse.issparse(X):
            return X
        n, width = X.shape
        if len(self._columns) < n * width or self._pointers[1] != width:
            self._columns = np.tile(np.arange(width, dtype=np.int32), n)
            self._pointers = np.arange(n + 1, dtype=np.int32) * np.int32(width)
        return csr_of(np.ascontiguousarray(X).ravel(), self._columns[:n * width],
                      self._pointers[:n + 1], width)

    def _block_size(self) -> int:
        rows = self.rows
        if rows.is_sparse:
            return max(_CSR_ROWS, rows.n_features)
        return max(1, _ENTRIES // max(rows.n_features, self.model.dimension))

    def _row_scales(self, X: Features) -> tuple[FloatArray, FloatArray]:
        # NumPy would convert single precision in chunks that depend on the position of a row.
        X = X if sparse.issparse(X) else np.ascontiguousarray(X, np.float64)
        if isinstance(self.model, WhitenedModel):
            return self.model.row_scales(X, alike=True)
        return self.model.row_scales(X)


class AverageTerms(ScaledTerms):
    """Averages of groups: for every column of theta, of features and of constants."""

    factors: FloatArray

    def __init__(self, entry: GroupEntry, averages: list[tuple[Any, FloatArray]]) -> None:
        self._entry, self.averages = entry, averages

    def square_norms(self) -> Any:
        return sum(np.square(row_norms(features)) + np.square(constants)
                   for features, constants in self.averages)

    def scale(self, factors: FloatArray) -> None:
        # Averages of clipped rows are finite, so none needs to be set to zero.
        self.factors = factors

    def add(self, total: FloatArray) -> None:
        columns = total.reshape(len(total), -1).T
        for column, (features, constants) in zip(columns, self.averages, strict=True):
            width = features.shape[1]
            column[:width] += features.T @ self.factors
            if len(column) > width:
                column[width] += constants @ self.factors


class GroupSums(LinearSums):
    """Gradient sums of a linear model over groups with any number of rows.

    Parameters
    ----------
    model : LinearModel
    loss : Loss
    rows : Rows
        With groups.
    row_clip : float
        Bound on the norm of one row's gradient.
    clip_norm : float
        Bound on the norm of a group's term, the average of its rows' clipped gradients.
    """

    entry: GroupEntry

    def __init__(self, model: Any, loss: Any, rows: RowSource, row_clip: float,
                 clip_norm: float) -> None:
        super().__init__(loss, GroupEntry(model, rows, Clip(row_clip)))
        # An average is no longer than the longest gradient in it.
        self.clip = Clip(min(clip_norm, row_clip))

    def terms(self, theta: FloatArray, rows: Chosen) -> Iterator[AverageTerms]:
        entry, point = self.entry, self.entry.point(theta)
        for block in entry.whole_groups(rows):
            part = entry.take(block)
            gradients = self._gradients(point, part)
            gradients.clip(entry.clip)
            dz = gradients.derivatives.reshape(len(part.y), -1)
            yield AverageTerms(entry, list(entry.averages(dz, part, block)))

    def partial_curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Raise a RuntimeError: bounds on rows' curvatures do not bound clipped averages."""
        raise _refusal("curvature")

    def curvature_bound(self, bound: float) -> tuple[float, int]:
        """Raise a RuntimeError, as `curvature` does."""
        raise _refusal("curvature_bound")

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Raise a RuntimeError: a clipped average is not the gradient of a loss."""
        raise _refusal("hessian")

    def require_monotone(self) -> None:
        """Raise a ValueError: a clipped average is not the gradient of a convex loss."""
        raise ValueError("groups: averages that are clipped are gradients of no convex loss; use "
                         "solver='gd' or 'sgd', or groups=None.")


def _refusal(what: str) -> RuntimeError:
    return RuntimeError(f"GroupSums has no {what}: it is bounded for rows, and a group's rows are "
                        "averaged and clipped again; ask sums over rows.")

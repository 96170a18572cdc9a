"""How rows of a whitened map enter sums that are exact over the rows as they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dger

from dpsk._sums.float_entry import FloatEntry, Part
from dpsk._sums.grid_entry import GridEntry
from dpsk._sums.truncation import add_products, whole_values
from dpsk._sums.two_part_sum import MOST_ROWS, TwoPartSum, joined

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._sums.clip import Clip
    from dpsk._typing import AnyArray, FloatArray

__all__ = ["WhitenedGridEntry"]


class WhitenedGridEntry(GridEntry):
    """Rows of a `WhitenedModel` on a grid: sums are exact over the rows as they are, mapped once.

    The total before its map has the same bits in any order and blocks, and so has what a public
    matrix makes of it. Rounding in that product is priced like that of a float sum. So the total
    need not be a double: its bits are those of a block, however many rows there are.

    The scale of a part holds those of rows, and constants over them, which are one number where
    all are alike.
    """

    pairs = True

    def __init__(self, model: Any, rows: RowSource, clip: Clip,
                 n_samples: int | None = None) -> None:
        self._constants: dict[int, Any] = {}
        # A derivative times a row that is not mapped may be longer than the clip norm.
        self._stretch = model.inverse_norm
        reach = clip.norm * self._stretch
        most = min(n_samples or rows.n_units, MOST_ROWS)
        # What is mapped is rounded, and no multiple of the unit.
        self._set_units(model.rows, reach, 51 - math.ceil(math.log2(most * reach)))
        FloatEntry.__init__(self, model, rows, clip, n_samples)

    def rounding_terms(self, n_rows: float) -> int:
        # Only the map of a total rounds.
        return math.ceil(math.sqrt(2.0 * self.model.dimension * n_rows * self.model.spread))

    def _part(self, block: Any) -> Part:
        part = super()._part(block)
        return part._replace(scale=(part.scale, self._constants[block.start]))

    def point(self, theta: FloatArray) -> FloatArray:
        return self._truncated(self.model.mapped_point(theta), self._plain.radius)

    def predict(self, point: AnyArray, part: Part) -> FloatArray:
        own, constants = part.scale
        # Whole units are finite, so that rows that are dropped have products to multiply by 0.
        z = part.X @ point[:self._plain.n_features]
        if self._plain.fit_intercept:
            if np.ndim(constants) and z.ndim > 1:
                # In place; these sums are exact, so no order of them rounds.
                z = dger(1.0, point[-1], constants, a=z.T, overwrite_a=True).T
            else:
                z += constants * point[-1]
        z *= own if z.ndim == 1 else own[:, None]
        return z

    def zeros(self) -> TwoPartSum:
        return TwoPartSum(self.model.shape)

    def add(self, dz: FloatArray, part: Part, total: Any) -> None:
        own, constants = part.scale
        # By a power of two as well, which rounds nothing.
        factors = np.multiply(own, 1.0 / (self._weight_unit * self._row_unit), dtype=np.float64)
        dz *= factors if dz.ndim == 1 else factors[:, None]
        np.trunc(dz, out=dz)
        sums = total.room(len(dz))
        # The sum that is exact is over the rows as they are.
        sums[:self._plain.n_features] += part.X.T @ dz
        if self._plain.fit_intercept:
            sums[-1] += constants @ dz if np.ndim(constants) else constants * dz.sum(axis=0)

    def finish(self, whole: FloatArray) -> FloatArray:
        unit = self._weight_unit * self._row_unit
        return self.model.matrix.T @ (joined(whole) * unit)

    def finish_products(self, whole: FloatArray, bound: float) -> FloatArray:
        total = super().finish_products(whole, bound)
        return self.model.matrix.T @ total @ self.model.matrix

    def products_bound(self, bound: float) -> tuple[float, int]:
        # Entries that are cut by less than a unit are mapped afterwards.
        cut = self._products_unit(bound) * math.sqrt(self.model.dimension / bound)
        cut *= float(np.linalg.norm(self.model.matrix, 2))
        terms = math.ceil(math.sqrt(3.0 * self.model.dimension * self.n_samples)
                          * self.model.spread)
        return bound * (1.0 + cut)**2, terms

    def _products_unit(self, bound: float) -> float:
        return super()._products_unit(bound * self._stretch**2)

    def _add_whole_products(self, roots: FloatArray, part: Part, total: FloatArray) -> None:
        own, constants = part.scale
        roots *= own
        add_products(part.X, roots, roots * constants if self._plain.fit_intercept else None,
                     total)

    def _enter(self) -> tuple[FloatArray, FloatArray]:
        limits = self._open_rows()
        for part in self.rows.blocks(self._block):
            rows, shares, lengths = self._enter_block(part, self._plain)
            constants = self._beside(shares, self._late[part])
            # Often they are alike, and one number says so.
            same = np.all(constants == constants[0])
            self._constants[part.start] = constants[0] if same else constants
            late, constants = self._late[part], self._constants[part.start]
            scale = late * self._row_unit
            # Rows in whole units are no longer, so these lengths bound what rounds.
            factors, norms = self.model.factors_of_multiples(rows, lengths, constants, scale)
            self._late[part] = self._factors(late * factors)
            limits[part] = self._limit(norms, part)
        self._late *= self._row_unit
        return self._late, limits

    def _beside(self, shares: FloatArray, late: FloatArray) -> FloatArray:
        """Return what stands for the intercept's 1 beside rows, in whole units."""
        # Where rows are scaled after products their own quotient is 1.
        own = shares if self._plain.homogeneous else np.ones(len(shares))
        return whole_values(own / late, self._row_unit)

    def _wholes(self, scale: Any) -> FloatArray:
        own, constants = scale
        return own * constants

"""Terms of a whitened model's rows in sums that are exact over the unmapped rows."""

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
    """Rows of a `WhitenedModel` on a grid: exact sums over unmapped rows, then mapped.

    The total of unmapped rows has the same bits in any order and with any blocks, and so has its
    product with the public matrix. Rounding in that product is accounted for like rounding in a
    float sum. So the total need not fit a double: the grid is as fine as for a single block,
    however many rows there are.

    The scale of a part is a pair: the scales of rows, and the constants over them, one number
    if all are equal.
    """

    pairs = True

    def __init__(self, model: Any, rows: RowSource, clip: Clip,
                 n_samples: int | None = None) -> None:
        self._constants: dict[int, Any] = {}
        # The product of a derivative and an unmapped row may be longer than the clip norm.
        self._stretch = model.inverse_norm
        reach = clip.norm * self._stretch
        most = min(n_samples or rows.n_units, MOST_ROWS)
        # The mapped sum is rounded, so it is not a multiple of a unit: there is no resolution.
        self._set_units(model.rows, reach, 51 - math.ceil(math.log2(most * reach)))
        FloatEntry.__init__(self, model, rows, clip, n_samples)

    def rounding_terms(self, n_rows: float) -> int:
        # Only the product of a total with the matrix is rounded.
        return math.ceil(math.sqrt(2.0 * self.model.dimension * n_rows * self.model.spread))

    def _part(self, block: Any) -> Part:
        part = super()._part(block)
        return part._replace(scale=(part.scale, self._constants[block.start]))

    def point(self, theta: FloatArray) -> FloatArray:
        return self._truncated(self.model.mapped_point(theta), self._plain.radius)

    def predict(self, point: AnyArray, part: Part) -> FloatArray:
        own, constants = part.scale
        # Truncated rows are finite, so the predictions of dropped rows times 0 are 0.
        z = part.X @ point[:self._plain.n_features]
        if self._plain.fit_intercept:
            if np.ndim(constants) and z.ndim > 1:
                # In place; these sums are exact in any order.
                z = dger(1.0, point[-1], constants, a=z.T, overwrite_a=True).T
            else:
                z += constants * point[-1]
        z *= own if z.ndim == 1 else own[:, None]
        return z

    def zeros(self) -> TwoPartSum:
        return TwoPartSum(self.model.shape)

    def add(self, dz: FloatArray, part: Part, total: Any) -> None:
        own, constants = part.scale
        # The units are powers of two, so the division is exact.
        factors = np.multiply(own, 1.0 / (self._weight_unit * self._row_unit), dtype=np.float64)
        dz *= factors if dz.ndim == 1 else factors[:, None]
        np.trunc(dz, out=dz)
        sums = total.room(len(dz))
        # The exact sum is over the unmapped rows.
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
        # Truncation changes entries by less than a unit, and the map amplifies the change.
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
            # The constants are often equal, and then one number is enough.
            same = np.all(constants == constants[0])
            self._constants[part.start] = constants[0] if same else constants
            late, constants = self._late[part], self._constants[part.start]
            scale = late * self._row_unit
            # Truncated rows are no longer than rows, so these lengths bound the rounding.
            factors, norms = self.model.factors_of_multiples(rows, lengths, constants, scale)
            self._late[part] = self._factors(late * factors)
            limits[part] = self._limit(norms, part)
        self._late *= self._row_unit
        return self._late, limits

    def _beside(self, shares: FloatArray, late: FloatArray) -> FloatArray:
        """Return the entries of the intercept column of truncated rows, in integer units."""
        # For homogeneous models, the quotient is 1 where rows are scaled after products.
        own = shares if self._plain.homogeneous else np.ones(len(shares))
        return whole_values(own / late, self._row_unit)

    def _wholes(self, scale: Any) -> FloatArray:
        own, constants = scale
        return own * constants

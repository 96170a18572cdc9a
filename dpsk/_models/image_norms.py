"""Norms of mapped rows, for maps that are diagonal except in a few directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dsyrk

from dpsk._data.norms import square_sums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["ImageNorms"]

#: Bits of the longest direction: its product with a row on a grid is exact in doubles.
_BITS = 24
#: With fewer coordinates, or a larger share of directions, a triangular map is as fast.
_LEAST_WIDTH, _MOST_SHARE = 64, 0.125
#: Largest error, relative to the largest squared size, before a triangular map is used.
_MOST_ERROR = 2.0**-8


@dataclass(frozen=True, eq=False)
class ImageNorms:
    r"""Bound on the squared norms of rows mapped by a released matrix P.

    ``||P r||^2 <= sum_i (s_i r_i)^2 - sum_k (z_k . r)^2 + error ||r||^2``, where `error` is the
    Frobenius norm of the difference between ``P' P`` and these two terms, plus their rounding.

    Parameters
    ----------
    sizes : ndarray of shape (p,)
        s.
    directions : ndarray of shape (p, k)
        z, as columns, with entries on a grid.
    error : float
    """

    sizes: FloatArray
    directions: FloatArray
    error: float

    @classmethod
    def of(cls, matrix: FloatArray, sizes: FloatArray,
           directions: FloatArray) -> ImageNorms | None:
        """Return the bound for P transposed; None where it is no faster or too loose."""
        width, k = directions.shape
        if width < _LEAST_WIDTH or k > _MOST_SHARE * width:
            return None
        longest = float(np.linalg.norm(directions, axis=0).max(initial=0.0))
        if longest > 0.0:
            unit = 2.0 ** (math.ceil(math.log2(longest)) - _BITS)
            directions = np.rint(directions / unit) * unit
        # The upper triangle of the difference, built in place.
        lacking = dsyrk(1.0, matrix.T, trans=1, c=np.zeros((width, width), order="F"),
                        overwrite_c=True)
        if k:
            lacking = dsyrk(1.0, directions.T, 1.0, lacking, trans=1, overwrite_c=True)
        diagonal = np.einsum("ii->i", lacking)
        diagonal -= sizes**2
        square = 2.0 * float(np.square(lacking, out=lacking).sum()) - float(diagonal.sum())
        largest = float(sizes.max())**2
        rounding = 2.0**-49 * width * (float(np.square(matrix).sum()) + largest)
        error = math.sqrt(square) + rounding
        return cls(sizes, directions, error) if error <= _MOST_ERROR * largest else None

    def square_norms(self, X: FloatArray, constants: Any) -> FloatArray:
        """Return the first two terms for dense rows, which are overwritten, shape (n,).

        Rows are whole multiples of a grid spacing. So are `constants`, the values in place of the
        intercept's 1: one number, one per row, or None without an intercept.
        """
        p = X.shape[1]
        # These products are exact, and all later rounding treats each row by itself.
        along = X @ self.directions[:p]
        X *= self.sizes[:p]
        squares = square_sums(X)
        if constants is not None:
            along += np.multiply.outer(constants, self.directions[p])
            squares += (constants * self.sizes[p])**2
        squares -= square_sums(along)
        # Cancellation may leave slightly negative values.
        return np.maximum(squares, 0.0, out=squares)

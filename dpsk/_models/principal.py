"""Map rows to coordinates in the main directions of a table, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import shortened
from dpsk._models.products import product_by_row
from dpsk._models.ranges import RangedRows

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["PrincipalRows"]


@dataclass(frozen=True, eq=False)
class PrincipalRows:
    """Map a row, clipped around a center, to its coordinates in released directions.

    Each row is mapped by itself, so neighboring tables stay neighbors.

    Parameters
    ----------
    center : ndarray of shape (n_features,)
    radius : float
        Rows farther than this from the center are scaled down to this distance.
    basis : ndarray of shape (n_features, k)
        Orthonormal directions, as columns.
    units : ndarray of shape (k,), or None
        Divisors of the coordinates; None: no division.
    """

    center: np.ndarray
    radius: float
    basis: np.ndarray
    units: np.ndarray | None

    @property
    def width(self) -> Any:
        """int : number of coordinates."""
        return self.basis.shape[1]

    @property
    def norm(self) -> float:
        """float : bound on the norm of mapped rows."""
        return self.radius if self.units is None else self.radius / float(self.units.min())

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the coordinates of a block of rows to `out`."""
        rows = np.empty(X.shape)
        RangedRows(self.center, None, None, rows.dtype).dense(X, rows)
        # A row's position may be secret where rows are in groups, so it must not affect rounding.
        found = product_by_row(shortened(rows, self.radius), self.basis)
        if self.units is not None:
            found /= self.units
        # Directions are orthonormal only up to rounding, so coordinates are clipped again.
        out[:] = shortened(found, self.norm)

    def undone(self, rows: FloatArray) -> FloatArray:
        """Return the rows in the span of the directions with these coordinates, float64."""
        rows = rows.astype(np.float64)
        with np.errstate(over="ignore"):
            return (rows if self.units is None else rows * self.units) @ self.basis.T + self.center

    @staticmethod
    def units_of(variances: FloatArray, least: float) -> FloatArray:
        """Return the roots of variances in some directions, for use as `units`.

        Variances below `least` count as equal to it; the root is 1 where the result is 0.
        """
        found = np.maximum(variances, least)
        return np.array([math.sqrt(each) if each > 0.0 else 1.0 for each in found])

"""A released linear map of rows, followed by clipping of their norms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import row_blocks
from dpsk._models.clipping import HEADROOM
from dpsk._models.linear import LinearModel
from dpsk._models.products import product_by_row

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["Preconditioner"]


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """Map an entering row ``r`` to ``r' P / max(1, ||r' P||)`` or ``r' P / ||r' P||``.

    Each row is mapped by itself, by a released matrix, so neighboring tables stay neighbors.
    Every mapped row has norm at most 1, whatever the matrix.

    Parameters
    ----------
    model : LinearModel
        Scales a row and appends the intercept's 1.
    matrix : ndarray of shape (rows of theta, rows of theta)
        P.
    normalizes : bool
        Whether rows of norm below 1 are scaled up to norm 1.
    """

    model: LinearModel
    matrix: np.ndarray
    normalizes: bool = False

    dtype = np.float64

    @property
    def width(self) -> int:
        """int : number of columns of mapped rows."""
        return len(self.matrix)

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the mapped rows of a block to `out`."""
        out[:] = product_by_row(entering_rows(self.model, X), self.matrix)
        factors = self._factors(out)
        out *= factors[:, None]
        # The product of 0 and an overflowed entry would not be 0.
        out[factors == 0] = 0.0

    def predict_raw(self, coef: FloatArray, intercept: Any, X: Features) -> Any:
        """Return ``r' coef + intercept`` for the rows of X, times the factor of ``r' P``.

        The result has the dtype of X and shape (n,) or (n, n_outputs).
        """
        raw = np.empty((X.shape[0], *coef.shape[1:]), X.dtype)
        intercept = np.reshape(intercept, coef.shape[1:])
        for part in row_blocks(X.shape[0], self.width):
            rows = entering_rows(self.model, X[part])
            factors = self._factors(rows @ self.matrix)
            # Coefficients are for rows that are not divided by `unit`.
            z = rows[:, :len(coef)] @ (self.model.unit * coef)
            if self.model.fit_intercept:
                z += np.multiply.outer(rows[:, -1], intercept)
            raw[part] = z * (factors if z.ndim == 1 else factors[:, None])
        return raw

    def _factors(self, rows: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            factors = HEADROOM / (norms if self.normalizes else np.maximum(norms, 1.0))
        # Outside this range squares overflow or underflow, and norms are meaningless.
        factors[~((norms > 1e-150) & (norms < 1e150))] = 0.0
        return factors


def entering_rows(model: LinearModel, X: Features, units: float = 1.0) -> FloatArray:
    """Return scaled rows of a block, with the intercept's 1 appended, dense float64.

    `units`, a power of two, multiplies the result without further rounding.
    """
    X = model.bounded(X)
    scale, _ = model.row_scales(X)
    constants = model.constants(scale)
    scale *= units
    rows = np.empty((X.shape[0], model.shape[0]))
    dense = X.toarray() if sparse.issparse(X) else X
    np.multiply(dense, scale[:, None], out=rows[:, :model.n_features], dtype=np.float64)
    if model.fit_intercept:
        np.multiply(constants, units, out=rows[:, -1])
    return rows

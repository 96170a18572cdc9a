"""Rows over released scales and less a released center, in training and in prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import row_blocks

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["LessCenter", "ScaledColumns", "about_center"]

#: Entries in one loop of a subtraction.
_LOOP = 1 << 10
#: Larger entries would overflow in single precision.
_LARGEST = 1e30


@dataclass(frozen=True, eq=False)
class LessCenter:
    """Map rows to rows less a center, each by itself, so neighboring tables stay neighbors.

    A learned norm is at most 2^40, and so a center is far too small for finite rows to overflow.

    Parameters
    ----------
    center : ndarray of shape (n_features,)
        In the dtype of the rows.
    """

    center: np.ndarray

    @property
    def width(self) -> int:
        """int : number of columns."""
        return len(self.center)

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype : dtype of the mapped rows."""
        return self.center.dtype

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`."""
        # Public rows may be sparse beside dense ones.
        X = X.toarray() if sparse.issparse(X) else X
        whole = 0
        if X.flags.c_contiguous and out.flags.c_contiguous:
            # NumPy loops over the last axis, so several short rows are taken as one.
            several = len(self._repeated) // self.width
            whole = len(X) // several * several
            shape = (-1, len(self._repeated))
            np.subtract(X[:whole].reshape(shape), self._repeated, out=out[:whole].reshape(shape))
        np.subtract(X[whole:], self.center, out=out[whole:])

    @cached_property
    def _repeated(self) -> FloatArray:
        return np.tile(self.center, max(1, _LOOP // self.width))


@dataclass(frozen=True, eq=False)
class ScaledColumns:
    """Divide the columns of rows by released numbers, each row by itself.

    Parameters
    ----------
    scales : ndarray of shape (n_features,)
        Powers of two, in the dtype of the rows, so that quotients are exact.
    """

    scales: np.ndarray

    @property
    def width(self) -> int:
        """int : number of columns."""
        return len(self.scales)

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype : dtype of the mapped rows."""
        return self.scales.dtype

    def dense(self, X: Features, out: FloatArray) -> None:
        """Write the rows of a block to `out`."""
        X = X.toarray() if sparse.issparse(X) else X
        np.divide(X, self.scales, out=out)
        np.clip(out, -_LARGEST, _LARGEST, out=out)


def about_center(row_map: Any, center: np.ndarray | None, scales: np.ndarray | None) -> Any:
    """Return a map of prediction for rows before they are scaled and centered."""
    if row_map is None or (center is None and scales is None):
        return row_map
    # A number stands for a whole vector.
    return _AboutCenter(row_map, np.zeros(1) if center is None else center,
                        np.ones(1) if scales is None else scales)


@dataclass(frozen=True, eq=False)
class _AboutCenter:
    """Raw predictions by a map of rows over released scales, less a released center.

    Parameters
    ----------
    row_map : object with predict_raw(coef, intercept, X)
    center, scales : ndarray of shape (n_features,) or (1,)
    """

    row_map: Any
    center: np.ndarray
    scales: np.ndarray

    def predict_raw(self, coef: FloatArray, intercept: Any, X: Features) -> Any:
        """Return raw predictions of rows as they are, (n,) or (n, n_outputs).

        The coefficients, the intercept and the dtype of the result are those of such rows.
        """
        inner = (coef.T * self.scales).T
        center = np.broadcast_to(self.center, len(coef))
        intercept = np.reshape(intercept, coef.shape[1:]) + center @ inner
        raw = np.empty((X.shape[0], *coef.shape[1:]), X.dtype)
        for part in row_blocks(X.shape[0], len(coef)):
            rows = X[part].toarray() if sparse.issparse(X) else X[part]
            rows = (rows / self.scales - self.center).astype(X.dtype, copy=False)
            raw[part] = self.row_map.predict_raw(inner, intercept, rows)
        return raw

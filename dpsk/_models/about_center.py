"""Rows less a released center, in training and in prediction."""

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

__all__ = ["LessCenter", "about_center"]

#: Entries in one loop of a subtraction.
_LOOP = 1 << 10


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


def about_center(row_map: Any, center: np.ndarray | None) -> Any:
    """Return a map of prediction for rows before centering; without either, what was given."""
    return row_map if row_map is None or center is None else _AboutCenter(row_map, center)


@dataclass(frozen=True, eq=False)
class _AboutCenter:
    """Raw predictions by a map of rows less a released center.

    Parameters
    ----------
    row_map : object with predict_raw(coef, intercept, X)
    center : ndarray of shape (n_features,)
    """

    row_map: Any
    center: np.ndarray

    def predict_raw(self, coef: FloatArray, intercept: Any, X: Features) -> Any:
        """Return raw predictions of rows that are not centered, (n,) or (n, n_outputs).

        The coefficients, the intercept and the dtype of the result are those of such rows.
        """
        intercept = np.reshape(intercept, coef.shape[1:]) + self.center @ coef
        raw = np.empty((X.shape[0], *coef.shape[1:]), X.dtype)
        for part in row_blocks(X.shape[0], len(self.center)):
            rows = X[part].toarray() if sparse.issparse(X) else X[part]
            raw[part] = self.row_map.predict_raw(coef, intercept, rows - self.center)
        return raw

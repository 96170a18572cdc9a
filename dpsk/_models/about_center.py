"""A map of prediction that is applied to rows less a center, as it was in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import row_blocks

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import Features, FloatArray

__all__ = ["about_center"]


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

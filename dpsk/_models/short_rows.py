"""Rows that are cut to a bound in prediction as they were in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._models.linear import LinearModel
    from dpsk._typing import Features, FloatArray

__all__ = ["ShortRows"]


@dataclass(frozen=True)
class ShortRows:
    """Scores of rows that are scaled down to a bound that nothing is known to be near to.

    Rows that are a hundred times as long as the bound would else have scores a hundred times as
    large as any in training, and probabilities of 0 and 1.

    Parameters
    ----------
    model : LinearModel
        Scales a row.
    scales_constants : bool
        Whether the intercept's 1 is scaled with its row, so that scores keep their signs.
    """

    model: LinearModel
    scales_constants: bool

    def predict_raw(self, coef: FloatArray, intercept: Any, X: Features) -> Any:
        """Return raw predictions, in the dtype of X, shape (n,) or (n, n_outputs)."""
        scale, _ = self.model.row_scales(X)
        scale = scale.astype(X.dtype)
        with np.errstate(all="ignore"):
            z = X @ coef
            scales = scale if z.ndim == 1 else scale[:, None]
            if self.scales_constants:
                z = scales * (z + intercept)
            else:
                z = scales * z + np.reshape(intercept, coef.shape[1:])
        # The product of a row that is too long to be scaled may have overflowed.
        z[scale == 0.0] = 0.0 if self.scales_constants else np.reshape(
            intercept, coef.shape[1:])
        return z

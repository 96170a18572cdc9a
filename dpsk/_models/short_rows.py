"""Rows that are clipped to a norm bound in prediction as they were in training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._models.linear import LinearModel
    from dpsk._typing import Features, FloatArray

__all__ = ["ShortRows"]


@dataclass(frozen=True)
class ShortRows:
    """Scores of rows scaled down to a norm bound, which may be far below their norms.

    Otherwise, rows a hundred times as long as the bound would have scores a hundred times as
    large as any in training, and probabilities of 0 and 1.

    Parameters
    ----------
    model : LinearModel
        Scales a row.
    whitened : bool
        Whether rows were whitened in training. If so, and if the model is `homogeneous`, a row's
        constant is scaled with the row.
    """

    model: LinearModel
    whitened: bool

    def predict_raw(self, coef: FloatArray, intercept: Any, X: Features) -> Any:
        """Return raw predictions, in the dtype of X, shape (n,) or (n, n_outputs)."""
        scale, _ = self.model.row_scales(X)
        constants = self.model.constants(scale) if self.whitened else np.ones(len(scale))
        with np.errstate(all="ignore"):
            z = replace(self.model, fit_intercept=False).predict_raw(coef, X, scale)
        z += np.multiply.outer(constants, np.reshape(intercept, coef.shape[1:]))
        return z

"""A model with one parameter, which multiplies rows of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.linear import LinearModel

if TYPE_CHECKING:
    from dpsk._typing import Features, FloatArray

__all__ = ["ScaleModel"]


@dataclass(frozen=True)
class ScaleModel(LinearModel):
    """One number that multiplies rows of scores: raw predictions along a ray.

    `theta` has shape (1,). A row holds the raw predictions of a linear model at a public point,
    so its norm is at most that point's norm times the radius of the model: `data_norm`.
    """

    @property
    def shape(self) -> tuple[int]:
        return (1,)

    def predict_raw(self, theta: FloatArray, X: Features,
                    scale: FloatArray | None = None) -> FloatArray:
        z = theta[0] * X
        if scale is not None:
            z *= scale[:, None]
        return z[:, 0] if self.n_outputs is None else z

    def features_sum(self, dz: FloatArray, X: Features, out: FloatArray) -> None:
        out[0] += np.vdot(dz, X)

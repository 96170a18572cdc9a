"""Multiples of one parameter vector, as a model of rows of scores."""

from dataclasses import dataclass

import numpy as np

from dpsk._models.linear import LinearModel

__all__ = ["ScaleModel"]


@dataclass(frozen=True)
class ScaleModel(LinearModel):
    """One number that multiplies a row of scores: the raw predictions along a ray.

    `theta` has shape (1,). A row holds the raw predictions of a linear model at a public point,
    so its norm is at most that point's norm times the radius of the model: `data_norm`.
    """

    @property
    def shape(self):
        return (1,)

    def predict_raw(self, theta, X, scale=None):
        z = theta[0] * X
        if scale is not None:
            z *= scale[:, None]
        return z[:, 0] if self.n_outputs is None else z

    def features_sum(self, dz, X, out):
        out[0] += np.vdot(dz, X)

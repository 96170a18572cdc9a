"""The worst group's risk as a saddle problem over weights of groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses.base import Loss
from dpsk._objective.saddle.base import SaddleLoss, Simplex

if TYPE_CHECKING:
    from dpsk._typing import AnyArray, FloatArray, IntArray

__all__ = ["GroupRisk"]


@dataclass(frozen=True)
class GroupRisk(SaddleLoss):
    r"""Sum over groups `g` of :math:`\lambda_g` times the mean loss of the group's rows.

    The loss of a row of group `g` is :math:`s \lambda_g \ell(y, z) / p_g`, with
    :math:`\lambda` in the simplex. Targets have two columns: the loss's own, and the group's
    index.

    Parameters
    ----------
    loss : Loss
        Scalar output.
    shares : tuple of float
        Share of every group among the rows, public or released.
    curvature : float
        Strength of the public term that keeps the weights near uniform.
    largest : float
        Greater losses of a row count as this much in the weights' gradient.
    scale : float
        The factor s of everything. The smallest share makes 1 the largest weight of a row.

    References
    ----------
    Sagawa, Koh, Hashimoto, Liang (2020), equation 4.
    """

    loss: Loss
    shares: tuple
    curvature: float
    largest: float
    scale: float = 1.0


    @property
    def dual_set(self) -> Simplex:
        """Simplex : the weights of the groups."""
        # At the shares the objective is the mean over all rows.
        return Simplex(self.shares, self.scale * self.curvature)

    def _parts(self, y: AnyArray) -> tuple[IntArray | FloatArray, IntArray, FloatArray]:
        groups = y[:, 1].astype(int)
        return y[:, 0], groups, self.scale / np.asarray(self.shares)[groups]

    def value(self, y: AnyArray, z: FloatArray, extra: FloatArray, dual: FloatArray) -> FloatArray:
        targets, groups, inverse = self._parts(y)
        return dual[groups] * inverse * self.loss.value(targets, z)

    def gradients(self, y: AnyArray, z: FloatArray, extra: FloatArray,
                  dual: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        targets, groups, inverse = self._parts(y)
        losses = np.clip(self.loss.value(targets, z), -self.largest, self.largest)
        d_dual = np.zeros((len(z), len(self.shares)))
        d_dual[np.arange(len(z)), groups] = inverse * losses
        dz = dual[groups] * inverse * self.loss.gradient(targets, z.copy())
        return dz, np.zeros((len(z), 0)), d_dual

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

    The loss of a row of group `g` is :math:`\lambda_g \ell(y, z) / p_g`, with :math:`\lambda`
    in the simplex and at most :math:`p_g (1 + (W - 1) \min(1, p_g M))`. Targets have two columns:
    the loss's own, and the group's index.

    A row's gradient is clipped to `C` before it is multiplied by :math:`\lambda_g / p_g`. The
    clip then treats all groups alike. Replacing a row moves the sum by at most
    :math:`2 C \max_g \lambda_g / p_g`, a public number of the released weights, at most `2 C W`.
    Losses too are clipped, to `D`, and summed by group before sums are divided by :math:`p_g`.
    Replacing a row moves these sums by at most :math:`2 D`.

    Parameters
    ----------
    loss : Loss
        Scalar output.
    shares : tuple of float
        Share of every group among the rows, public or released.
    curvature : float
        Strength of the public term that keeps the weights near uniform.
    heaviest : float
        W, the largest weight of a row; 1 is the weight of all rows in the mean risk.
    measured : float
        M, the inverse of the share from which the noise lets a group have that weight.

    References
    ----------
    Sagawa, Koh, Hashimoto, Liang (2020), equation 4.
    """

    loss: Loss
    shares: tuple
    curvature: float
    heaviest: float = np.inf
    measured: float = np.inf

    @property
    def lipschitz(self) -> float:
        """float : that of a row's loss before the weight of its group."""
        return self.loss.lipschitz

    @property
    def smoothness(self) -> float:
        """float : that of a row's loss before the weight of its group."""
        return self.loss.smoothness

    @property
    def dual_set(self) -> Simplex:
        """Simplex : the weights of the groups."""
        # At the shares the objective is the mean over all rows.
        most = [min(1.0, share * (1.0 + (self.heaviest - 1.0) * min(1.0, share * self.measured)))
                for share in self.shares]
        return Simplex(self.shares, self.curvature, tuple(most))

    def row_weights(self, y: AnyArray, dual: FloatArray) -> FloatArray:
        return (dual / np.asarray(self.shares))[_groups(y)]

    def largest_weight(self, dual: FloatArray) -> float:
        return float(np.abs(dual / np.asarray(self.shares)).max())

    def value(self, y: AnyArray, z: FloatArray, extra: FloatArray, dual: FloatArray) -> FloatArray:
        return self.row_weights(y, dual) * self.loss.value(y[:, 0], z)

    def gradients(self, y: AnyArray, z: FloatArray, extra: FloatArray,
                  dual: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        targets, groups = y[:, 0], _groups(y)
        d_dual = np.zeros((len(z), len(self.shares)))
        d_dual[np.arange(len(z)), groups] = self.loss.value(targets, z)
        dz = self.row_weights(y, dual) * self.loss.gradient(targets, z.copy())
        return dz, np.zeros((len(z), 0)), d_dual


def _groups(y: AnyArray) -> IntArray:
    return y[:, 1].astype(int)

"""The pinball loss of a quantile, with its corner rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray

__all__ = ["Pinball"]


@dataclass(frozen=True)
class Pinball(Loss):
    r"""Pinball loss of the residual ``r = z - y``, averaged over shifts of at most a width `w`.

    The pinball loss of the quantile `q` is ``p(r) = max((1 - q) r, -q r)``. Its mean over shifts
    ``r - T``, with `T` uniform on ``[-w, w]``, is ``p(r) + max(w - |r|, 0)^2 / (4 w)``: the same
    beyond `w`, and at most ``w / 4`` more within. Both terms are at least 0.

    *Derivative.* ``P(T < r) - q = r / (2 w) + 1/2 - q`` on ``[-w, w]``, ``-q`` below and
    ``1 - q`` above. It rises from ``-q`` to ``1 - q``, so that the loss is convex and the
    derivative at most ``max(q, 1 - q)`` in absolute value, which is attained; its slope is
    ``1 / (2 w)`` within and 0 beyond.

    *Bias.* Where the mean derivative is 0, ``P(y < z - T) = q``: not the share of targets below
    `z` is `q`, but its average over shifts that are as often up as down. With F the distribution
    function of targets and M a bound on the size of its second derivative within `w` of `z`,
    ``|F(z) - q| <= M w^2 / 6``: of a straight F nothing is left. A corner rounded about its lowest
    point would shift by ``w (1 - 2 q)`` in the mean, an error of first order in `w`.

    Parameters
    ----------
    quantile : float
    width : float
        Estimators map targets to [-1, 1], where residuals usually are ten times the default
        and more. Of normal ones that deviate by twice the default, F(z) is .911 for .9.

    References
    ----------
    Koenker, Bassett (1978), "Regression quantiles"; Fernandes, Guerre, Horta (2021), "Smoothing
    quantile regressions".
    """

    quantile: float = 0.5
    width: float = 0.01
    piecewise = True
    clippable = False

    @property
    def lipschitz(self) -> float:
        return max(self.quantile, 1.0 - self.quantile)

    @property
    def smoothness(self) -> float:
        return 0.5 / self.width

    def at_zero(self, n_outputs: int | None) -> float:
        # Convex in the target, so that an end of its range has the largest.
        return float(max(self.value(1.0, 0.0), self.value(-1.0, 0.0)))

    def value(self, y: Any, z: Any) -> Any:
        r = z - y
        inside = np.maximum(self.width - np.abs(r), 0.0)
        return np.maximum((1.0 - self.quantile) * r, -self.quantile * r) + (
            inside * (0.25 * inside / self.width))

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z -= y
        z *= 0.5 / self.width
        z += 0.5 - self.quantile
        np.clip(z, -self.quantile, 1.0 - self.quantile, out=z)
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return np.where(np.abs(z - y) < self.width, 0.5 / self.width, 0.0)

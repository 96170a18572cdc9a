"""The least-squares surrogate of the area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.saddle.base import Interval, SaddleLoss

if TYPE_CHECKING:

    from dpsk._typing import AnyArray, FloatArray

__all__ = ["AUCSquare"]


@dataclass(frozen=True)
class AUCSquare(SaddleLoss):
    r"""Mean square of ``1 - (z_+ - z_-)`` over pairs, written as a sum over rows.

    With `p` the positive ratio and targets in {0, 1} the loss of a row is

    .. math:: \frac{y}{p} (z - a)^2 + \frac{1 - y}{1 - p} (z - b)^2
              + 2 (1 + \alpha) \Bigl(\frac{1 - y}{1 - p} - \frac{y}{p}\Bigr) z

    beside the public term :math:`-\alpha^2`, all of it times `scale`. At the saddle point `a`
    and `b` are the mean scores of the positive and of the negative rows, and
    :math:`\alpha = b - a`.

    Parameters
    ----------
    positive_ratio : float
        Public, or released.
    scale : float
        ``min(p, 1 - p)`` makes 1 the largest weight of a row.
    mean_unit : float
        The unit of `a` and `b`: the extra primal numbers are ``a / mean_unit, b / mean_unit``.
        A small one slows both beside the model's coordinates, which all share one step.

    References
    ----------
    Ying, Wen, Lyu (2016), theorem 1, divided by ``p (1 - p)``.
    """

    positive_ratio: float
    scale: float = 1.0
    mean_unit: float = 1.0

    n_extra = 2

    @property
    def dual_set(self) -> Interval:
        """Interval : around the best difference of mean scores, which is in [-1, 1]."""
        return Interval(2.0, 2.0 * self.scale)

    @property
    def mean_weight(self) -> float:
        """float : mean of a row's weight, by the ratio that the loss was given."""
        return 2.0 * self.scale

    def _weights(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights of positive and of negative rows, zero elsewhere."""
        return (self.scale / self.positive_ratio * y,
                self.scale / (1.0 - self.positive_ratio) * (1.0 - y))

    def means(self, extra: FloatArray) -> tuple[float, float]:
        """Return `a` and `b` from the extra primal numbers."""
        return self.mean_unit * extra[0], self.mean_unit * extra[1]

    def value(self, y: AnyArray, z: FloatArray, extra: FloatArray, dual: FloatArray) -> FloatArray:
        positive, negative = self._weights(y)
        a, b = self.means(extra)
        return (positive * (z - a)**2 + negative * (z - b)**2
                + 2.0 * (1.0 + dual[0]) * (negative - positive) * z)

    def gradients(self, y: AnyArray, z: FloatArray, extra: FloatArray,
                  dual: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        positive, negative = self._weights(y)
        a, b = self.means(extra)
        to_a, to_b = 2.0 * positive * (z - a), 2.0 * negative * (z - b)
        lean = 2.0 * (negative - positive)
        dz = to_a + to_b + (1.0 + dual[0]) * lean
        return dz, -self.mean_unit * np.column_stack([to_a, to_b]), (lean * z)[:, None]

"""The least-squares surrogate of the area under the ROC curve."""

from dataclasses import dataclass

import numpy as np

from dpsk._losses.saddle import Interval, SaddleLoss

__all__ = ["AUCSquare"]


@dataclass(frozen=True)
class AUCSquare(SaddleLoss):
    r"""Mean square of ``1 - (z_+ - z_-)`` over pairs, written as a sum over rows.

    With `p` the positive ratio and targets in {0, 1} the loss of a row is

    .. math:: \frac{y}{p} (z - a)^2 + \frac{1 - y}{1 - p} (z - b)^2
              + 2 (1 + \alpha) \Bigl(\frac{1 - y}{1 - p} - \frac{y}{p}\Bigr) z

    beside the public term :math:`-\alpha^2`. At the saddle point `a` and `b` are the mean scores
    of the positive and of the negative rows, and :math:`\alpha = b - a`.

    Parameters
    ----------
    positive_ratio : float
        Public, or released.

    References
    ----------
    Ying, Wen, Lyu (2016), theorem 1, divided by ``p (1 - p)``.
    """

    positive_ratio: float

    n_extra = 2
    #: The best difference of mean scores is in [-1, 1].
    dual_set = Interval(2.0, 2.0)

    def _weights(self, y):
        """Return the weights of positive and of negative rows, zero elsewhere."""
        return y / self.positive_ratio, (1.0 - y) / (1.0 - self.positive_ratio)

    def value(self, y, z, extra, dual):
        positive, negative = self._weights(y)
        return (positive * (z - extra[0])**2 + negative * (z - extra[1])**2
                + 2.0 * (1.0 + dual[0]) * (negative - positive) * z)

    def gradients(self, y, z, extra, dual):
        positive, negative = self._weights(y)
        to_a, to_b = 2.0 * positive * (z - extra[0]), 2.0 * negative * (z - extra[1])
        lean = 2.0 * (negative - positive)
        dz = to_a + to_b + (1.0 + dual[0]) * lean
        return dz, -np.column_stack([to_a, to_b]), (lean * z)[:, None]

"""A shifted logarithm that makes a skewed column symmetric about its median."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["ShiftedLog"]

#: Least argument of the logarithm, which is undefined at 0 and below.
_LEAST = 1e-12


@dataclass(frozen=True)
class ShiftedLog:
    r"""Scale on which both quartiles are equally far from the median.

    .. math:: s(x) = \log_r \Bigl(1 + \frac{x - m}{h} \bigl(1 - \tfrac1r\bigr)\Bigr)

    It is 0 at the median m, -1 at ``m - h`` and 1 at ``m + r h``, and nearly linear where r is
    about 1. Lognormal numbers and their negatives are normal on it. Numbers without a
    logarithm count as the nearest ones that have one.

    Parameters
    ----------
    median : float
    unit : float
        h, positive.
    ratio : float
        r, positive and not 1.

    References
    ----------
    Tukey (1977), "Exploratory data analysis", for the g-distribution, whose quantiles these are.
    """

    median: float
    unit: float
    ratio: float

    @classmethod
    def of_quartiles(cls, low: float, median: float, high: float, error: float,
                     largest: float) -> ShiftedLog | None:
        """Return the scale of three quartiles, or None where they show no need for one.

        The ratio compares the quartiles' distances from the median. Its logarithm is shrunk by
        the fraction of its square that its standard deviation `error` explains. The ratio is then
        clipped to ``[1 / largest, largest]``.
        """
        if not low < median < high:
            return None
        skew = math.log((high - median) / (median - low))
        if abs(skew) <= error:
            return None
        skew *= 1.0 - (error / skew)**2
        ratio = math.exp(min(max(skew, -math.log(largest)), math.log(largest)))
        return cls(median, (high - low) / (1.0 + ratio), ratio)

    def __call__(self, numbers: Any) -> FloatArray:
        """Return numbers on this scale, NaN for NaN."""
        slope = (1.0 - 1.0 / self.ratio) / self.unit
        with np.errstate(over="ignore"):
            shifted = 1.0 + (np.asarray(numbers, dtype=float) - self.median) * slope
        result: FloatArray = np.log(np.maximum(shifted, _LEAST)) / math.log(self.ratio)
        return result

    def inverse(self, places: Any) -> FloatArray:
        """Return the numbers at some places on this scale."""
        with np.errstate(over="ignore"):
            powers = np.expm1(np.asarray(places, dtype=float) * math.log(self.ratio))
        result: FloatArray = self.median + self.unit * powers / (1.0 - 1.0 / self.ratio)
        return result

r"""The clip: no privacy unit adds a vector that is longer than a bound.

A sum adds one vector for every privacy unit, which is a row or a group of rows. The vector is a
function of that unit and of public numbers. `Clip` limits its norm to ``C`` by one of two
methods, so that replacing one unit moves the sum by at most ``2 C``:

- *vectors*: the factor is ``min(1, C h / ||v||)``, and 0 if v is not finite. The rounding slack
  ``1 - h`` exceeds the rounding in the norm, in the product and in their sum;
- *products*: a gradient of a linear map is the outer product of derivatives z and a row x. In the
  l1, l2 and max norm, ``||z x'|| = ||z|| ||x||``. So ``||z|| <= C h / ||x||`` suffices, and this
  limit can be computed before any point is known.

If k rows of a group are averaged, each row gets a k-th of the bound. The slack also covers vectors
whose squares underflow: none counts as shorter than `SHORTEST`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._models.clipping import HEADROOM, SHORTEST, clip_factors

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["SINGLE_HEADROOM", "Clip"]

#: Slack for the rounding of single-precision norms and sums, and for how a row can change it.
SINGLE_HEADROOM = 1.0 - 2.0**-8
#: Longer gradients could overflow a block's float32 sum; smaller factors lose bits in float32.
_LONGEST, _LEAST_FACTOR = 2.0**100, float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Clip:
    """A bound on the norm of every vector of a sum.

    Parameters
    ----------
    norm : float
        The bound ``C``.
    order : {1, 2, inf}
        The norm that is bounded. Vectors that are not products are clipped in the l2 norm.
    single : bool
        Whether the vectors are in single precision.
    """

    norm: float
    order: float = 2
    single: bool = False

    def factors(self, square_norms: FloatArray, sizes: Any = 1.0) -> FloatArray:
        """Return factors that clip vectors to ``norm / sizes``; float64, shape (n,).

        A factor is 0 if its vector is not finite or too long for a factor of full precision.
        """
        with np.errstate(all="ignore"):
            norms = np.maximum(np.sqrt(square_norms), SHORTEST)
        limits = self.norm / sizes
        if not self.single:
            return clip_factors(norms, limits * HEADROOM)
        return clip_factors(norms, np.minimum(limits, _LONGEST) * SINGLE_HEADROOM, _LEAST_FACTOR)

    def limits(self, norms: FloatArray, sizes: FloatArray | None = None) -> FloatArray:
        """Return limits on the norms of derivatives, from the rows' norms; shape (n,)."""
        norms = np.maximum(norms, SHORTEST)
        if sizes is not None:
            norms *= sizes
        with np.errstate(over="ignore"):
            return np.divide(self.norm * HEADROOM, norms, out=norms)

    def shorten(self, derivatives: FloatArray, limits: FloatArray) -> None:
        """Clip derivatives, shape (n,) or (n, k), to their limits, in place.

        If any derivative of a row is not finite, all derivatives of the row become zero.
        """
        # Finite derivatives whose squares overflow enter this branch too and stay as they are.
        if not math.isfinite(np.vdot(derivatives, derivatives)):
            finite = np.isfinite(derivatives).reshape(len(derivatives), -1).all(axis=1)
            derivatives[~finite] = 0.0
        if derivatives.ndim == 1:
            np.minimum(derivatives, limits, out=derivatives)
            np.maximum(derivatives, -limits, out=derivatives)
            return
        lengths = np.maximum(self._lengths(derivatives), SHORTEST)
        derivatives *= clip_factors(lengths, limits)[:, None]

    def _lengths(self, vectors: FloatArray) -> FloatArray:
        if self.order == 2:
            return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        sizes = np.abs(vectors)
        return sizes.sum(axis=1) if self.order == 1 else sizes.max(axis=1)

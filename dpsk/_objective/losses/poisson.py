"""The Poisson deviance with a bounded pull."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray


@dataclass(frozen=True)
class CappedPoisson(Loss):
    r"""Half the Poisson deviance of ``exp(z)``, linear once it overshoots, for `y` in [0, 1].

    ``exp(z) - y z`` for ``z <= log(1 + y)``, and its tangent beyond. The derivative is
    ``min(exp(z) - y, 1)``: at most 1, and at least ``-y >= -1``. Its slope is ``exp(z)`` where
    ``exp(z) <= 1 + y``, so at most 2. The suprema are those of any `offset` as well, which only
    moves the predictions.

    Parameters
    ----------
    offset : float
        Public, added to every raw prediction.
    """

    offset: float = 0.0
    lipschitz = 1.0
    smoothness = 2.0

    def at_zero(self, n_outputs: int | None) -> float:
        # Decreasing in y where the offset is not negative, else increasing.
        return float(self.value(0.0 if self.offset >= 0 else 1.0, 0.0))

    def value(self, y: Any, z: Any) -> Any:
        z = z + self.offset
        knee = np.log1p(y)
        inside = np.minimum(z, knee)
        return np.exp(inside) - y * inside + (z - inside)

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z += self.offset
        # Above log 2 the cap holds whatever y is; the bound keeps exp from overflowing.
        np.minimum(z, 1.0, out=z)
        np.exp(z, out=z)
        z -= y
        return np.minimum(z, 1.0, out=z)

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z = z + self.offset
        inside = np.minimum(z, np.log1p(y))
        return np.where(z <= inside, np.exp(inside), 0.0)

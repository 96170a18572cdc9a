"""Several binary losses on the same rows, as one loss with a vector prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:

    from dpsk._typing import AnyArray, FloatArray


@dataclass(frozen=True)
class OneVsRest(Loss):
    r"""Sum over classes of a binary loss of that class against the rest.

    `y` holds class indices. The gradient has one entry a class, so its norm is at most
    ``sqrt(n_classes)`` times the binary loss's bound; the Hessian is diagonal. All classes
    are one release, clipped jointly.

    Parameters
    ----------
    binary : Loss
        With targets in {-1, 1}.
    n_classes : int
    """

    binary: Loss
    n_classes: int
    vector_output = True
    #: While rows are of no class, hinges have a slope for their own alone.
    first_score = -1.0

    @property
    def convex(self) -> bool:
        return self.binary.convex

    @property
    def gradient_diameter(self) -> float:
        # Where every entry has one sign, no two gradients are at an obtuse angle.
        return float(np.sqrt(2.0)) if self.binary.gradient_diameter == 1.0 else 2.0

    @property
    def lipschitz(self) -> float:
        return self.binary.lipschitz * float(np.sqrt(self.n_classes))

    @property
    def usual_share(self) -> float:  # type: ignore[override]  # a constant elsewhere
        # Where there is no bound, clips are shares of 1 already.
        return self.binary.lipschitz / self.lipschitz if np.isfinite(self.lipschitz) else 1.0

    @property
    def smoothness(self) -> float:
        return self.binary.smoothness

    def at_zero(self, n_outputs: int | None) -> float:
        return self.n_classes * self.binary.at_zero(None)

    def value(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return self.binary.value(self._signs(y, z), z).sum(axis=1)

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return self.binary.gradient(self._signs(y, z), z)

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        curvatures = self.binary.hessian(self._signs(y, z), z)
        return curvatures[:, :, None] * np.eye(self.n_classes)

    def _signs(self, y: AnyArray, z: FloatArray) -> FloatArray:
        signs = np.full_like(z, -1.0)
        signs[np.arange(len(y)), y] = 1.0
        return signs

"""Logistic losses, of two classes and of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, softmax

from dpsk._objective.losses.base import Loss

if TYPE_CHECKING:

    from typing import Any

    from dpsk._typing import AnyArray, FloatArray

#: Further down slopes stay the same, so that no exponential overflows, in single precision too.
_LEAST_SCORE = -80.0


@dataclass(frozen=True)
class Logistic(Loss):
    r"""Binary logistic loss, :math:`\log(1 + e^z) - y z` with `y` in {0, 1}.

    The derivative is ``expit(z) - y``, of magnitude at most 1; the second derivative
    ``expit(z) (1 - expit(z))`` is at most 1/4. Both suprema are approached.
    """

    lipschitz = 1.0
    smoothness = 0.25
    is_likelihood = True
    # Given y the derivative has one sign.
    gradient_diameter = 1.0

    def at_zero(self, n_outputs: int | None) -> float:
        return float(np.log(2.0))

    def value(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return np.logaddexp(0.0, z) - y * z

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z = _sigmoid(z, out=z)
        z -= y
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        p = _sigmoid(z)
        p -= 0.5
        np.square(p, out=p)
        return np.subtract(0.25, p, out=p)


def _sigmoid(z: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return ``1 / (1 + e^-z)``."""
    # NumPy's exponential is fast on every processor; its tanh and SciPy's expit are on some.
    out = np.maximum(z, _LEAST_SCORE, out=out)
    np.negative(out, out=out)
    np.exp(out, out=out)
    out += 1.0
    return np.divide(1.0, out, out=out)


@dataclass(frozen=True)
class RankingLogistic(Logistic):
    """The logistic loss with a default clip of its own, for scores that are to rank rows.

    Order suffers more from a narrow clip than the sign does: it is the rows of the rare class,
    far from fitted, whose gradients are cut.
    """

    clip_share: float = 0.3


@dataclass(frozen=True)
class Multinomial(Loss):
    r"""Multinomial logistic loss, :math:`\log \sum_k e^{z_k} - z_y` with `y` a class index.

    The gradient ``p - e_y`` has squared norm ``sum_{k != y} p_k^2 + (1 - p_y)^2``, at most
    2 as the first sum is at most ``(1 - p_y)^2``. The Hessian ``diag(p) - p p'`` has largest
    eigenvalue at most 1/2: Gershgorin's radius around ``p_k (1 - p_k)`` is that same number,
    and ``2 p_k (1 - p_k) <= 1/2``.
    """

    lipschitz = float(np.sqrt(2.0))
    smoothness = 0.5
    is_likelihood = True
    # Given y every entry has one sign, so no two gradients are at an obtuse angle.
    gradient_diameter = float(np.sqrt(2.0))
    vector_output = True

    def at_zero(self, n_outputs: Any) -> float:
        return float(np.log(n_outputs))

    def value(self, y: AnyArray, z: FloatArray) -> FloatArray:
        return logsumexp(z, axis=1) - z[np.arange(len(y)), y]

    def gradient(self, y: AnyArray, z: FloatArray) -> FloatArray:
        z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        z[np.arange(len(y)), y] -= 1.0
        return z

    def hessian(self, y: AnyArray, z: FloatArray) -> FloatArray:
        p = softmax(z, axis=1)
        return p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])

"""Minimizers of a square and a penalty, of a matrix in memory: no rows are read."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lstsq
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from dpsk._objective.penalties import ElasticNet, L1Ball, L2Ball

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._objective.penalties import Penalty
    from dpsk._typing import FloatArray

__all__ = ["Inverse", "penalized_minimum"]

_EPS = np.finfo(np.float64).eps
#: Steps of proximal gradients, and rounds of coordinates.
_STEPS, _FEW_STEPS = 50_000, 3000
_TOLERANCE = 1e-13


class Inverse:
    """The pseudo-inverse of a matrix without negative eigenvalues, scaled to a unit diagonal."""

    def __init__(self, matrix: FloatArray) -> None:
        diagonal = np.diag(matrix)
        self._scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.maximum(diagonal, 1e-300)), 0.0)
        values, vectors = np.linalg.eigh(matrix * self._scale[:, None] * self._scale)
        self._kept = values > 4.0 * len(matrix) * _EPS * max(values, default=0.0)
        self._values, self._vectors = values, vectors

    def __call__(self, right: FloatArray) -> FloatArray:
        vectors = self._vectors[:, self._kept]
        right = self._scale * right if right.ndim == 1 else self._scale[:, None] * right
        inner = (vectors.T @ right).T / self._values[self._kept]
        return (((inner @ vectors.T) * self._scale).T)

    def reaches(self, vector: FloatArray) -> bool:
        """Return whether a vector is one that the matrix maps to, but for rounding."""
        if np.abs(vector[self._scale == 0]).max(initial=0.0) > 1e-6 * np.abs(vector).max():
            return False
        vector = self._scale * vector
        lost = self._vectors[:, ~self._kept].T @ vector
        return bool(np.linalg.norm(lost) <= 1e-6 * np.linalg.norm(vector))

    def within_null_space(self, vector: FloatArray) -> FloatArray:
        """Return the nearest of the vectors that the matrix maps to zero."""
        empty = self._scale == 0
        vectors = self._vectors[:, ~self._kept] * self._scale[:, None]
        basis = np.column_stack([vectors, np.eye(len(empty))[:, empty]])
        return basis @ lstsq(basis, vector, lapack_driver="gelsy")[0]


def penalized_minimum(matrix: FloatArray, vector: FloatArray, penalty: Penalty,
                      start: FloatArray) -> FloatArray:
    """Return the w that minimizes ``<v, w - s> + (w - s)' A (w - s) / 2`` and the penalty's rest.

    `matrix` and `vector`, flat, are A and v; `start` is s, whose shape w has.
    """
    pull = (matrix @ start.ravel() - vector)
    if isinstance(penalty, ElasticNet):
        strength = penalty.alpha * penalty.l1_ratio
        return _Coordinates(matrix, pull)(strength, start.ravel()).reshape(start.shape)
    if isinstance(penalty, L2Ball):
        return _in_l2_ball(matrix, pull, penalty).reshape(start.shape)

    def gradient(point: FloatArray) -> FloatArray:
        return (matrix @ point.ravel() - pull).reshape(start.shape)

    longest = float(np.linalg.eigvalsh(matrix)[-1])
    if not longest > 0:
        return start
    most = _FEW_STEPS if isinstance(penalty, L1Ball) else _STEPS
    found, settled = _restarted(gradient, penalty.prox, start, 1.0 / longest, most)
    if isinstance(penalty, L1Ball) and not settled:
        # Features of unlike scales make proximal gradients slow.
        return _in_l1_ball(matrix, pull, penalty, found)
    return found


class _Coordinates:
    """Coordinate descent on ``w' A w / 2 - <b, w> + strength ||w||_1``, whatever its scales."""

    def __init__(self, matrix: FloatArray, pull: FloatArray) -> None:
        values, vectors = np.linalg.eigh(matrix)
        kept = values > len(matrix) * _EPS * max(values[-1], 0.0)
        roots = np.sqrt(values[kept])
        # It is the square of a residual of as many equations as there are eigenvalues.
        self._rows = np.asfortranarray(roots[:, None] * vectors[:, kept].T)
        self._targets = (vectors[:, kept].T @ pull) / roots

    def __call__(self, strength: float, start: FloatArray) -> FloatArray:
        if not len(self._rows):
            return np.zeros_like(start) if strength else start
        with warnings.catch_warnings():
            # A step of Newton's method need not be exact.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = enet_path(self._rows, self._targets, l1_ratio=1.0,
                              alphas=[strength / len(self._rows)], coef_init=start.copy(),
                              tol=_TOLERANCE, max_iter=_STEPS)
        return found[1][:, 0]


def _in_l1_ball(matrix: FloatArray, pull: FloatArray, ball: L1Ball,
                start: FloatArray) -> FloatArray:
    """Return the minimizer of a square in an l1 ball: the lasso of the strength that fits."""
    whole = Inverse(matrix)(pull)
    if np.abs(whole).sum() <= ball.radius:
        return whole.reshape(start.shape)
    descend, points = _Coordinates(matrix, pull), [start.ravel()]

    def excess(strength: float) -> float:
        points.append(descend(strength, points[-1]))
        return float(np.abs(points[-1]).sum()) - ball.radius

    # At the largest strength every coefficient is 0; at none the ball is left.
    largest = float(np.abs(pull).max())
    strength = brentq(excess, 1e-12 * largest, largest, xtol=1e-15 * largest, rtol=1e-14)
    return ball.prox(descend(float(strength), points[-1]).reshape(start.shape), 1.0)


def _in_l2_ball(matrix: FloatArray, pull: FloatArray, ball: L2Ball) -> FloatArray:
    """Return the minimizer of a square in an l2 ball: a ridge of the strength that fits."""
    whole = Inverse(matrix)(pull)
    if np.linalg.norm(whole) <= ball.radius:
        return whole
    values, vectors = np.linalg.eigh(matrix)
    values, turned = np.maximum(values, 0.0), vectors.T @ pull
    largest = float(np.linalg.norm(pull)) / ball.radius

    def shrunk(strength: float) -> FloatArray:
        return turned / (values + strength)

    def excess(exponent: float) -> float:
        return float(np.linalg.norm(shrunk(largest * np.exp(exponent)))) - ball.radius

    if excess(-40.0) <= 0:
        return ball.prox(whole, 1.0)
    return vectors @ shrunk(largest * np.exp(brentq(excess, -40.0, 1e-9, rtol=1e-15)))


def _restarted(gradient: Callable[[FloatArray], FloatArray], prox: Any, start: FloatArray,
               step: float, max_iter: int) -> tuple[FloatArray, bool]:
    """Return the end of accelerated proximal gradients, and whether they have settled.

    They start anew where they turn back.
    """
    theta = point = start
    age = 0
    for _ in range(max_iter):
        following = prox(point - step * gradient(point), step)
        moved = following - theta
        if np.vdot(point - following, moved) > 0:
            age, point = 0, theta
            following = prox(point - step * gradient(point), step)
            moved = following - theta
        age += 1
        if np.abs(following - point).max() <= 1e-15 * max(1e-300, np.abs(following).max()):
            return following, True
        theta, point = following, following + (age - 1.0) / (age + 2.0) * moved
    return following, False

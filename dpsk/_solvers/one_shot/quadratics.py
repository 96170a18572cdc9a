"""Minimizers of a quadratic function plus a penalty; no rows are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, lstsq
from scipy.linalg.lapack import dpocon
from sklearn.linear_model import enet_path

from dpsk._objective.penalties import ElasticNet, L1Ball, L2Ball
from dpsk._warnings import muted

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._objective.penalties import Penalty
    from dpsk._typing import FloatArray

__all__ = ["Inverse", "penalized_minimum"]

_EPS = np.finfo(np.float64).eps
#: A matrix whose approximate reciprocal condition number exceeds this is solved by Cholesky.
_FAR_FROM_SINGULAR = 1e-10
#: The most steps of proximal gradients.
_STEPS = 50_000
#: Largest number of passes of coordinate descent in a round, and of rounds.
_PASSES, _ROUNDS = 500, 100
#: Factor between successive strengths of an l1 penalty on a decreasing path.
_PACE = 30.0
_TOLERANCE = 1e-13


class Inverse:
    """Pseudo-inverse of a positive semidefinite matrix, scaled to a unit diagonal."""

    def __init__(self, matrix: FloatArray) -> None:
        diagonal = np.diag(matrix)
        self._scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.maximum(diagonal, 1e-300)), 0.0)
        scaled = matrix * self._scale[:, None] * self._scale
        self._root = _root(scaled + np.diag(self._scale == 0.0))
        if self._root is None:
            values, self._vectors = np.linalg.eigh(scaled)
            self._kept = values > 4.0 * len(matrix) * _EPS * max(values, default=0.0)
            self._values = values

    def __call__(self, right: FloatArray) -> FloatArray:
        right = (right.T * self._scale).T
        if self._root is not None:
            inner = cho_solve((self._root, True), right, check_finite=False)
        else:
            vectors = self._vectors[:, self._kept]
            inner = vectors @ ((vectors.T @ right).T / self._values[self._kept]).T
        return (inner.T * self._scale).T

    def reaches(self, vector: FloatArray) -> bool:
        """Return whether a vector is in the range of the matrix, up to rounding."""
        if np.abs(vector[self._scale == 0]).max(initial=0.0) > 1e-6 * np.abs(vector).max():
            return False
        return not self.lost(vector).any()

    def lost(self, vector: FloatArray) -> FloatArray:
        """Return the part of a vector in the null space; zero if only rounding is left."""
        if self._root is not None:
            return np.zeros_like(vector)
        vectors, vector = self._vectors[:, ~self._kept], self._scale * vector
        inner = vectors.T @ vector
        if np.linalg.norm(inner) <= 1e-6 * np.linalg.norm(vector):
            return np.zeros_like(vector)
        return self._scale * (vectors @ inner)

    def within_null_space(self, vector: FloatArray) -> FloatArray:
        """Return the nearest vector in the null space of the matrix."""
        empty = self._scale == 0
        basis = np.eye(len(empty))[:, empty]
        if self._root is None:
            vectors = self._vectors[:, ~self._kept] * self._scale[:, None]
            basis = np.column_stack([vectors, basis])
        return basis @ lstsq(basis, vector, lapack_driver="gelsy")[0]


def _root(matrix: FloatArray) -> FloatArray | None:
    """Return the Cholesky factor of a matrix, or None if it is nearly singular."""
    if not len(matrix):
        return matrix
    try:
        root = cholesky(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return None
    share, _ = dpocon(root, np.abs(matrix).sum(axis=0).max(initial=0.0), uplo="L")
    return root if share > _FAR_FROM_SINGULAR else None


def penalized_minimum(matrix: FloatArray, vector: FloatArray, penalty: Penalty,
                      start: FloatArray) -> FloatArray:
    """Return the minimizer of a quadratic function plus a penalty.

    The function of w is ``<v, w - s> + (w - s)' A (w - s) / 2``.
    `matrix` is A, `vector` is v, flattened, and `start` is s, which has the shape of w. Only the
    penalty's non-smooth part is added; A and v include its smooth part.
    """
    pull = (matrix @ start.ravel() - vector)
    if isinstance(penalty, ElasticNet):
        strength = penalty.alpha * penalty.l1_ratio
        return _Lasso(matrix, pull)(strength, start.ravel()).reshape(start.shape)
    if isinstance(penalty, L1Ball):
        return _in_l1_ball(matrix, pull, penalty, start)
    if isinstance(penalty, L2Ball):
        return _in_l2_ball(matrix, pull, penalty).reshape(start.shape)

    def gradient(point: FloatArray) -> FloatArray:
        return (matrix @ point.ravel() - pull).reshape(start.shape)

    longest = float(np.linalg.eigvalsh(matrix)[-1])
    if not longest > 0:
        return start
    return _restarted(gradient, penalty.prox, start, 1.0 / longest)


class _Lasso:
    """Minimizers of ``w' A w / 2 - <b, w> + strength ||w||_1``, for any scales of A.

    Coordinate descent finds the signs of the coefficients. The linear equations for coefficients
    of these signs then give their values.
    """

    def __init__(self, matrix: FloatArray, pull: FloatArray) -> None:
        self._matrix, self._pull = matrix, pull
        self._units = np.sqrt(np.maximum(np.diag(matrix), 0.0))
        scales = np.divide(1.0, self._units, out=np.zeros(len(matrix)), where=self._units > 0)
        values, vectors = np.linalg.eigh(matrix * scales[:, None] * scales)
        kept = values > len(matrix) * _EPS * max(values[-1], 0.0)
        roots = np.sqrt(values[kept])
        # Write the quadratic as half a squared residual, with one equation per eigenvalue kept.
        self._rows = np.asfortranarray(roots[:, None] * vectors[:, kept].T * self._units)
        self._targets = (vectors[:, kept].T @ (scales * pull)) / roots

    def __call__(self, strength: float, start: FloatArray) -> FloatArray:
        """Return the minimizer; `start` should be near it."""
        point = np.where(self._units > 0, start, 0.0)
        if not len(self._rows):
            return point
        if len(self._rows) < len(point):
            # Start at large strengths, where few coefficients are nonzero.
            point, level = np.zeros_like(point), float(np.abs(self._pull).max()) / _PACE
            while level > _PACE * strength:
                point, level = self._at(level, point), level / _PACE
        return self._at(strength, point)

    def _at(self, strength: float, point: FloatArray) -> FloatArray:
        """Return the minimizer, by alternating coordinate descent and linear solves."""
        least = np.inf
        for _ in range(_ROUNDS):
            following, settled = self._of_signs(strength, self._descended(strength, point))
            value = self._value(strength, following)
            if not value < least:
                break
            settled |= least - value <= 1e-15 * abs(value)
            point, least = following, value
            if settled:
                break
        return point

    def pace(self, point: FloatArray) -> float:
        """Return the rate at which the minimizer's l1 norm falls as the strength grows."""
        active = np.flatnonzero(point)
        signs = np.sign(point[active])
        return float(signs @ Inverse(self._matrix[np.ix_(active, active)])(signs))

    def _value(self, strength: float, point: FloatArray) -> float:
        square = 0.5 * point @ self._matrix @ point - self._pull @ point
        return float(square + strength * np.abs(point).sum())

    def _descended(self, strength: float, start: FloatArray) -> FloatArray:
        # Warnings are muted because the result need not be exact.
        with muted():
            found = enet_path(self._rows, self._targets, l1_ratio=1.0,
                              alphas=[strength / len(self._rows)], coef_init=start.copy(),
                              tol=_TOLERANCE, max_iter=_PASSES)
        return found[1][:, 0]

    def _of_signs(self, strength: float, start: FloatArray) -> tuple[FloatArray, bool]:
        """Return the minimizer with a point's signs, and whether it is a global minimizer.

        Coefficients that would change sign become zero.
        """
        point, active = start.copy(), np.flatnonzero(start)
        while len(active):
            signs, block = np.sign(point[active]), self._matrix[np.ix_(active, active)]
            inverse = Inverse(block)
            # Where the quadratic is constant, lower the l1 norm until a coefficient is zero.
            step, ends = -inverse.lost(signs), np.inf
            if not step.any():
                step = inverse(self._pull[active] - strength * signs - block @ point[active])
                ends = 1.0
            with np.errstate(divide="ignore", invalid="ignore"):
                lengths = np.where(step * signs < 0, -point[active] / step, np.inf)
            length = float(lengths.min())
            if length >= ends:
                point[active] += step
                break
            point[active] += length * step
            point[active[lengths <= length]] = 0.0
            active = np.flatnonzero(point)
        slopes = np.abs(self._pull - self._matrix @ point)
        rounding = 4.0 * len(point) * _EPS * self._units * (self._units @ np.abs(point))
        return point, bool(np.all(slopes <= strength * (1.0 + 1e-12) + rounding))


def _in_l1_ball(matrix: FloatArray, pull: FloatArray, ball: L1Ball,
                start: FloatArray) -> FloatArray:
    """Return the minimizer of a quadratic in an l1 ball, by a matching lasso."""
    whole = Inverse(matrix)(pull)
    if np.abs(whole).sum() <= ball.radius:
        return whole.reshape(start.shape)
    lasso, point = _Lasso(matrix, pull), start.ravel()
    # At the largest strength every coefficient is 0; the smallest one changes only rounding.
    most = float(np.abs(pull).max())
    least, low = 1e-15 * most, 0.0
    # At the solution, the strength equals the slope of every nonzero coefficient.
    slopes = float((pull - matrix @ point) @ point)
    strength = slopes / max(float(np.abs(point).sum()), 1e-300)
    for _ in range(_ROUNDS):
        if not max(low, least) < strength < most:
            # Use larger strengths first, where few coefficients are nonzero.
            strength = float(np.sqrt(low * most)) if low else max(least, most / _PACE)
        point = lasso(strength, point)
        excess = float(np.abs(point).sum()) - ball.radius
        if abs(excess) <= 1e-13 * ball.radius or (excess < 0.0 and strength <= least):
            break
        low, most = (strength, most) if excess > 0.0 else (low, strength)
        # The norm is linear in the strength as long as no sign changes.
        far = not -ball.radius < excess < ball.radius
        strength = 0.0 if far else strength + excess / max(lasso.pace(point), 1e-300)
    # Scale all coefficients alike to remove the rounding excess. A projection would change
    # features of large scales most.
    return (point * min(1.0, ball.radius / np.abs(point).sum())).reshape(start.shape)


def _in_l2_ball(matrix: FloatArray, pull: FloatArray, ball: L2Ball) -> FloatArray:
    """Return the minimizer of a quadratic in an l2 ball, by a matching ridge.

    Newton's method finds the strength at which the norm's reciprocal, a concave function, is
    right. Strengths only grow.
    """
    strength, inverse = 0.0, Inverse(matrix)
    point = inverse(pull)
    for _ in range(_ROUNDS):
        size = float(np.linalg.norm(point))
        if size <= ball.radius * (1.0 + 1e-13):
            break
        strength += (size / ball.radius - 1.0) * size**2 / float(point @ inverse(point))
        inverse = Inverse(matrix + strength * np.eye(len(matrix)))
        point = inverse(pull)
    return point * min(1.0, ball.radius / max(float(np.linalg.norm(point)), 1e-300))


def _restarted(gradient: Callable[[FloatArray], FloatArray], prox: Any, start: FloatArray,
               step: float) -> FloatArray:
    """Return a minimizer by accelerated proximal gradients with restarts."""
    theta = point = start
    age = 0
    for _ in range(_STEPS):
        following = prox(point - step * gradient(point), step)
        moved = following - theta
        if np.vdot(point - following, moved) > 0:
            age, point = 0, theta
            following = prox(point - step * gradient(point), step)
            moved = following - theta
        age += 1
        if np.abs(following - point).max() <= 1e-15 * max(1e-300, np.abs(following).max()):
            return following
        theta, point = following, following + (age - 1.0) / (age + 2.0) * moved
    return following

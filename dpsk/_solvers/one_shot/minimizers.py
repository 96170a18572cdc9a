"""Minimizers of a smooth mean loss and a penalty, from exact values and derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["Objective", "accelerated", "newton", "quasi_newton"]

_EPS = np.finfo(np.float64).eps
#: Steps of the inner problem of a step of Newton's method, which touch no rows.
_INNER_STEPS = 50_000


class Objective:
    """The mean loss that an oracle answers for, with the differentiable part of a penalty."""

    def __init__(self, oracle, penalty):
        self.penalty = penalty
        self._oracle = oracle
        self._majorant = None

    def value(self, theta: FloatArray) -> float:
        """Return all of the objective at `theta`, a float."""
        return self._oracle.value(theta) + self.penalty.value(theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of the differentiable part, like `theta`."""
        return self._oracle.gradient(theta) + self.penalty.gradient(theta)

    def smooth(self, theta: FloatArray) -> Any:
        """Return the differentiable part's value and gradient."""
        return self.value_of_smooth(theta), self.gradient(theta)

    def value_of_smooth(self, theta: FloatArray) -> Any:
        """Return the value of the differentiable part, a float."""
        # Penalties are quadratic where they are differentiable, and diagonal.
        ridge = 0.5 * float(np.vdot(self.penalty.gradient(theta), theta))
        return self._oracle.value(theta) + ridge

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of the differentiable part, shape (theta.size, theta.size)."""
        hessian = self._oracle.hessian(theta)
        hessian[np.diag_indices(theta.size)] += self.penalty.gradient(np.ones_like(theta)).ravel()
        return hessian


    def damped(self, theta: FloatArray, hessian: Any) -> Any:
        """Return a Hessian with a tenth of the most that any may be."""
        if self._majorant is None:
            self._majorant = self._oracle.majorant(theta)
        return hessian + 0.1 * self._majorant


def newton(objective: Objective, theta: FloatArray, max_iter: int) -> tuple[FloatArray, int]:
    """Return the minimizer by (proximal) Newton steps, and how many were made.

    Where several are as good, without a penalty or of intercepts of several classes, that of least
    norm.
    """
    theta = objective.penalty.prox(theta, 1.0)
    value, last = objective.value(theta), np.inf
    scale, done = abs(value), 0
    while done < max_iter:
        done += 1
        model = _Model(objective, theta)
        step = model.step()
        decrement = model.decrement(step)
        settled = decrement <= 1e-9 * max(abs(value), 1e-9 * scale)
        # Rounding is reached where full steps bring no progress. Where classes are separated and
        # nothing is penalized there is no minimizer to go on to.
        if (not decrement > 1e-28 * scale or value <= 1e-14 * scale
                or (settled and decrement > 0.25 * last)):
            break
        last = decrement
        if settled:
            theta, value = theta + step, objective.value(theta + step)
            continue
        found = _searched(objective, theta, value, step, decrement)
        if found is None:
            break
        theta, value = found
    return _Model(objective, theta, damps=False).shortest(theta), done


def _searched(objective, theta, value, step, decrement):
    """Return a point along a step where the objective is less by its share, and its value.

    None where rounding hides whether there is one.
    """
    length = 1.0
    for _ in range(60):
        point = theta + length * step
        found = objective.value(point)
        if found <= value - 1e-4 * length * decrement:
            return point, found
        length *= 0.5
    return None


class _Model:
    """The quadratic model at a point, its unpenalized coordinates eliminated."""

    def __init__(self, objective, theta, damps=True):
        self._theta, self._penalty = theta, objective.penalty
        self._gradient = objective.gradient(theta)
        hessian = objective.hessian(theta)
        if damps and not _Inverse(hessian).reaches(self._gradient.ravel()):
            # Flat pieces of a loss have no curvature to tell how far they go.
            hessian = objective.damped(theta, hessian)
        free = self._penalty.unpenalized * (theta.size // len(theta))
        own = theta.size - free
        self._own = own
        self._cross = hessian[:own, own:]
        self._free = _Inverse(hessian[own:, own:])
        gradient = self._gradient.ravel()
        self._matrix = hessian[:own, :own] - self._cross @ self._free(self._cross.T)
        self._vector = gradient[:own] - self._cross @ self._free(gradient[own:])

    def step(self) -> FloatArray:
        """Return the step to the minimizer of the model and the penalty, like theta."""
        if self._penalty.is_smooth:
            own = -_Inverse(self._matrix)(self._vector)
        else:
            own = self._proximal_step()
        return self._completed(own, self._gradient.ravel()[self._own:])

    def decrement(self, step: FloatArray) -> float:
        """Return by how much the objective falls along the step, to first order."""
        rest = 0.0
        if not self._penalty.is_smooth:
            rest = self._rest(self._theta) - self._rest(self._theta + step)
        return rest - float(np.vdot(self._gradient, step))

    def shortest(self, theta: FloatArray) -> FloatArray:
        """Return theta without what of it changes neither predictions nor the penalty."""
        own, free = np.split(theta.ravel(), [self._own])
        if self._penalty.is_smooth:
            surplus = _Inverse(self._matrix).within_null_space(own)
            own, free = own - surplus, free + self._free(self._cross.T @ surplus)
        free = free - self._free.within_null_space(free)
        return np.concatenate([own, free]).reshape(theta.shape)

    def _completed(self, own, gradient):
        """Return a step with what the free coordinates answer to it."""
        free = -self._free(gradient + self._cross.T @ own)
        return np.concatenate([own, free]).reshape(self._theta.shape)

    def _rest(self, theta):
        """Return what of the penalty is not differentiable."""
        return (self._penalty.value(theta)
                - 0.5 * float(np.vdot(self._penalty.gradient(theta), theta)))

    def _proximal_step(self):
        penalized = replace(self._penalty, unpenalized=0)
        start = self._theta[:len(self._theta) - self._penalty.unpenalized]
        matrix, vector = self._matrix, self._vector

        def gradient(point):
            moved = (point - start).ravel()
            return (vector + matrix @ moved).reshape(start.shape)

        longest = float(np.linalg.eigvalsh(matrix)[-1])
        if not longest > 0:
            return np.zeros(self._own)
        end = _restarted(gradient, penalized.prox, start, 1.0 / longest, _INNER_STEPS)
        return (end - start).ravel()


class _Inverse:
    """The pseudo-inverse of a matrix without negative eigenvalues, scaled to a unit diagonal."""

    def __init__(self, matrix):
        diagonal = np.diag(matrix)
        self._scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.maximum(diagonal, 1e-300)), 0.0)
        values, vectors = np.linalg.eigh(matrix * self._scale[:, None] * self._scale)
        self._kept = values > 4.0 * len(matrix) * _EPS * max(values, default=0.0)
        self._values, self._vectors = values, vectors

    def __call__(self, right):
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
        return np.linalg.norm(lost) <= 1e-6 * np.linalg.norm(vector)

    def within_null_space(self, vector: FloatArray) -> FloatArray:
        """Return the nearest of the vectors that the matrix maps to zero."""
        empty = self._scale == 0
        vectors = self._vectors[:, ~self._kept] * self._scale[:, None]
        basis = np.column_stack([vectors, np.eye(len(empty))[:, empty]])
        return basis @ np.linalg.lstsq(basis, vector, rcond=None)[0]


def quasi_newton(objective: Any, theta: FloatArray, max_iter: Any) -> Any:
    """Return the minimizer of a smooth objective by L-BFGS, and the number of steps."""
    def smooth(flat):
        value, gradient = objective.smooth(flat.reshape(theta.shape))
        return value, gradient.ravel()

    found = minimize(smooth, theta.ravel(), jac=True, method="L-BFGS-B", options={
        "maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30})
    return found.x.reshape(theta.shape), found.nit


def accelerated(objective: Any, prox: Any, theta: FloatArray, max_iter: Any) -> Any:
    """Return a minimizer by accelerated proximal gradients, and the number of steps.

    Steps start at the last one's length, somewhat longer, and are halved until they are short
    enough for the curvature that is met; momentum starts anew where it turns back. Of a loss that
    is not convex, a stationary point.
    """
    point, step, age, done = theta, 1.0, 0, 0
    while done < max_iter:
        done += 1
        following, step = _backtracked(objective, prox, point, 1.1 * step)
        moved = following - theta
        if age and np.vdot(point - following, moved) > 0:
            age, point = 0, theta
            continue
        age += 1
        if np.abs(following - point).max() <= 1e-10 * max(1e-300, np.abs(following).max()):
            break
        theta, point = following, following + (age - 1.0) / (age + 2.0) * moved
    return following, done


def _backtracked(objective, prox, point, step):
    """Return the end of a proximal step that is short enough for the curvature, and its length."""
    value, gradient = objective.smooth(point)
    while True:
        end = prox(point - step * gradient, step)
        moved = end - point
        bound = value + np.vdot(gradient, moved) + np.vdot(moved, moved) / (2.0 * step)
        if objective.value_of_smooth(end) <= bound + 1e-15 * abs(value) or step < 1e-100:
            return end, step
        step *= 0.5


def _restarted(gradient, prox, start, step, max_iter):
    """Return the end of accelerated proximal gradients, restarted where they turn back."""
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
            break
        theta, point = following, following + (age - 1.0) / (age + 2.0) * moved
    return following

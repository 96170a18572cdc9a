"""Minimizers of a smooth mean loss plus a penalty, from exact derivatives."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from dpsk._solvers.one_shot.quadratics import Inverse, penalized_minimum

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["Objective", "accelerated", "newton", "quasi_newton", "shortest"]

#: The most steps of L-BFGS before its coordinates are recomputed.
_ROUND = 15
#: Fraction of the bound on Hessians that is added to a Hessian in `metric`; measured.
_FLOOR = 1e-4


class Objective:
    """The mean loss of an oracle plus a penalty."""

    def __init__(self, oracle, penalty, is_square=False):
        self.penalty = penalty
        self._oracle, self.is_square = oracle, is_square
        self._majorant = self._seen = self._square = None

    def value(self, theta: FloatArray) -> float:
        """Return the whole objective at `theta`, a float."""
        if self.penalty.is_smooth:
            # The gradient is needed next, and one pass computes both.
            return self.smooth(theta)[0]
        return self._oracle.value(theta) + self.penalty.value(theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of the differentiable part, in the shape of `theta`."""
        return self.smooth(theta)[1]

    def smooth(self, theta: FloatArray) -> Any:
        """Return the differentiable part's value and gradient."""
        if self._seen is None or not np.array_equal(self._seen[0], theta):
            value, gradient = self._oracle.value_and_gradient(theta)
            ridge = self.penalty.gradient(theta)
            value = value + 0.5 * float(np.vdot(ridge, theta))
            self._seen = theta.copy(), (value, gradient + ridge)
        return self._seen[1]

    def value_of_smooth(self, theta: FloatArray) -> Any:
        """Return the value of the differentiable part, a float."""
        # Penalties are quadratic where they are differentiable, and diagonal.
        ridge = 0.5 * float(np.vdot(self.penalty.gradient(theta), theta))
        return self._oracle.value(theta) + ridge

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of the differentiable part, shape (theta.size, theta.size)."""
        # The Hessian of a quadratic is the same everywhere.
        hessian = (self.majorant(theta).copy() if self.is_square else
                   self._oracle.hessian(theta))
        hessian[np.diag_indices(theta.size)] += self.penalty.gradient(np.ones_like(theta)).ravel()
        return hessian

    def square(self, theta: FloatArray) -> _Eliminated:
        """Return the constant Hessian of a quadratic, with free coordinates eliminated."""
        if self._square is None:
            own = len(theta) - self.penalty.unpenalized
            self._square = _Eliminated(self.hessian(theta), own)
        return self._square

    def majorant(self, theta: FloatArray) -> FloatArray:
        """Return an upper bound on all Hessians of the mean loss, for one output."""
        if self._majorant is None:
            self._majorant = self._oracle.majorant(theta.reshape(len(theta), -1)[:, 0])
        return self._majorant

    def metric(self, theta: FloatArray, near: bool = False) -> FloatArray:
        """Return an upper bound on all Hessians for one output, with the penalty's.

        With `near` and a scalar output, return the Hessian at `theta` plus a small fraction of
        the bound.
        """
        if near and theta.ndim == 1:
            return self.hessian(theta) + _FLOOR * self.majorant(theta)
        ridge = self.penalty.gradient(np.ones_like(theta)).reshape(len(theta), -1)[:, 0]
        return self.majorant(theta) + np.diag(ridge)

    def damped(self, theta: FloatArray, hessian: Any) -> Any:
        """Return a Hessian plus a tenth of the upper bound on all Hessians."""
        outputs = theta.size // len(theta)
        return hessian + 0.1 * np.kron(self.majorant(theta), np.eye(outputs))


def newton(objective: Objective, theta: FloatArray, max_iter: int,
           scale: float | None = None) -> tuple[FloatArray, int]:
    """Return the minimizer by (proximal) Newton steps, and the number of steps.

    `scale` is the value that tolerances for rounding are relative to; None: the one at theta.
    """
    theta = objective.penalty.prox(theta, 1.0)
    value, last = objective.value(theta), np.inf
    scale, done, model = scale or abs(value), 0, None
    while done < max_iter and value > 1e-14 * scale:
        done += 1
        fresh = model is None
        model = _Model(objective, theta) if model is None else model.moved(theta)
        step = model.step()
        decrement = model.decrement(step)
        settled = decrement <= 1e-9 * max(abs(value), 1e-9 * scale)
        # Stop if the decrease is below rounding.
        if not decrement > 1e-28 * scale:
            break
        if settled and decrement > 0.25 * last:
            if fresh:
                break
            model = None
            continue
        last = decrement
        if settled:
            # The Hessian hardly changes any more.
            theta, value = theta + step, objective.value(theta + step)
            continue
        found = _searched(objective, theta, value, step, decrement)
        if found is None:
            break
        theta, value = found
        model = model if objective.is_square else None
    return theta, done


def _searched(objective, theta, value, step, decrement):
    """Return a point along a step with sufficient decrease, and its value.

    Return None if rounding hides the decrease.
    """
    length = 1.0
    for _ in range(60):
        point = theta + length * step
        found = objective.value(point)
        if found <= value - 1e-4 * length * decrement:
            return point, found
        length *= 0.5
    return None


class _Eliminated:
    """A quadratic function of its first coordinates, minimized over the last ones."""

    def __init__(self, matrix, own):
        self.cross, self.free = matrix[:own, own:], Inverse(matrix[own:, own:])
        self.matrix = matrix[:own, :own] - self.cross @ self.free(self.cross.T)

    @cached_property
    def inverse(self):
        return Inverse(self.matrix)


class _Model:
    """The quadratic model at a point, its unpenalized coordinates eliminated."""

    def __init__(self, objective, theta):
        self._objective, self._penalty = objective, objective.penalty
        self._theta, self._gradient = theta, objective.gradient(theta)
        self._own = theta.size - self._penalty.unpenalized * (theta.size // len(theta))
        if objective.is_square:
            self._parts = objective.square(theta)
            return
        hessian = objective.hessian(theta)
        if not Inverse(hessian).reaches(self._gradient.ravel()):
            # Where the loss is flat, its curvature does not determine a step.
            hessian = objective.damped(theta, hessian)
        self._parts = _Eliminated(hessian, self._own)

    def moved(self, theta):
        """Return the model at another point, with the Hessian of this one."""
        moved = copy(self)
        moved._theta, moved._gradient = theta, self._objective.gradient(theta)
        return moved

    def step(self) -> FloatArray:
        """Return the step to the minimizer of model and penalty, in the shape of theta."""
        gradient = self._gradient.ravel()
        parts, rest = self._parts, gradient[self._own:]
        vector = gradient[:self._own] - parts.cross @ parts.free(rest)
        smooth = self._penalty.is_smooth
        own = -parts.inverse(vector) if smooth else self._proximal_step(vector)
        # The minimizing step of the free coordinates.
        free = -parts.free(rest + parts.cross.T @ own)
        return np.concatenate([own, free]).reshape(self._theta.shape)

    def decrement(self, step: FloatArray) -> float:
        """Return the first-order decrease of the objective along the step."""
        rest = 0.0
        if not self._penalty.is_smooth:
            rest = self._rest(self._theta) - self._rest(self._theta + step)
        return rest - float(np.vdot(self._gradient, step))

    def _rest(self, theta):
        """Return the part of the penalty that is not differentiable."""
        return (self._penalty.value(theta)
                - 0.5 * float(np.vdot(self._penalty.gradient(theta), theta)))

    def _proximal_step(self, vector):
        penalized = replace(self._penalty, unpenalized=0)
        start = self._theta[:len(self._theta) - self._penalty.unpenalized]
        end = penalized_minimum(self._parts.matrix, vector, penalized, start)
        return (end - start).ravel()


def quasi_newton(objective: Objective, theta: FloatArray, max_iter: int, *,
                 share: float, scales: bool, ends: bool) -> tuple[FloatArray, int]:
    """Return a minimizer of a smooth objective by L-BFGS, and the number of steps.

    With `scales`, the steps use coordinates from `metric`, in which Hessians are at most about
    the identity. A few tens of steps are then enough for any scales of features. Rounds stop once
    steps decrease the objective by less than about a `share` of it. With `ends`, they also stop
    after a round that needed less than its number of steps.
    """
    done, scale = 0, objective.smooth(theta)[0]
    lowest = 1e-14 * scale
    while scale > lowest and done < max_iter:
        there, back = _coordinates(objective.metric(theta, done > 0)) if scales else (_same, _same)

        def smooth(flat, start=theta, scale=scale, there=there, back=back):
            value, gradient = objective.smooth(start + there(flat.reshape(start.shape)))
            return value / scale, back(gradient).ravel() / scale

        steps = min(_ROUND, max_iter - done) if scales else max_iter - done
        found = minimize(smooth, np.zeros(theta.size), jac=True, method="L-BFGS-B", options={
            "maxiter": steps, "maxfun": 2 * max_iter, "ftol": share, "gtol": 1e-13, "maxcor": 30})
        done += max(1, found.nit)
        if not found.fun < 1.0:
            break
        theta, scale = theta + there(found.x.reshape(theta.shape)), scale * found.fun
        if found.fun > 1.0 - 100.0 * share or (ends and found.nit < steps):
            break
    return theta, done


def _same(point):
    return point


def _coordinates(metric):
    """Return maps between points and coordinates in which a metric is the identity.

    The first map takes coordinates to points, the second one takes gradients to coordinates.
    """
    units = np.sqrt(np.where(np.diag(metric) > 0, np.diag(metric), 1.0))
    scaled = metric / units / units[:, None]
    # Directions without curvature have no slope either.
    scaled[np.diag_indices_from(scaled)] += 1e-10
    root = np.linalg.cholesky(scaled)

    def there(point):
        return (solve_triangular(root, point, lower=True, trans=1, check_finite=False).T
                / units).T

    def back(slopes):
        return solve_triangular(root, (slopes.T / units).T, lower=True, check_finite=False)

    return there, back


def shortest(objective: Objective, theta: FloatArray) -> FloatArray:
    """Return theta without parts that change neither predictions nor the penalty.

    An equal shift of all classes is also removed if the objective does not get worse.
    """
    penalty, shape = objective.penalty, theta.shape
    own = len(theta) - penalty.unpenalized
    if penalty.is_smooth:
        parts = (objective.square(theta) if objective.is_square else
                 _Eliminated(objective.metric(theta), own))
        surplus = parts.inverse.within_null_space(theta.reshape(len(theta), -1)[:own])
        shorter = theta - np.concatenate(
            [surplus, -parts.free(parts.cross.T @ surplus)]).reshape(shape)
        # If the minimum lies at infinity, nearly flat directions matter, so check the value.
        value, scale = objective.value(theta), objective.value(np.zeros_like(theta))
        if objective.value(shorter) <= value + 1e-9 * abs(value) + 1e-12 * abs(scale):
            theta = shorter
    if theta.ndim == 1:
        return theta
    first = own if penalty.smoothness or not penalty.is_smooth else 0
    centered = theta.copy()
    centered[first:] -= centered[first:].mean(axis=1, keepdims=True)
    value = objective.value(theta)
    return centered if objective.value(centered) <= value + 1e-13 * abs(value) else theta


def accelerated(objective: Any, prox: Any, theta: FloatArray, max_iter: Any) -> Any:
    """Return a minimizer by accelerated proximal gradients, and the number of steps.

    Each step starts slightly longer than the last one and is halved until it is short enough for
    the local curvature. Momentum restarts if it points uphill. For nonconvex losses the result is
    a stationary point.
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
    """Return the end and the length of a proximal step that fits the curvature."""
    value, gradient = objective.smooth(point)
    while True:
        end = prox(point - step * gradient, step)
        moved = end - point
        bound = value + np.vdot(gradient, moved) + np.vdot(moved, moved) / (2.0 * step)
        if objective.value_of_smooth(end) <= bound + 1e-15 * abs(value) or step < 1e-100:
            return end, step
        step *= 0.5

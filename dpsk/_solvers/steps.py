"""Steps and averages of iterates, which are post-processing of noisy answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._parameters import check_choice
from dpsk._solvers.base import Result

if TYPE_CHECKING:
    from typing import Any

    from dpsk._objective.penalties.base import Penalty
    from dpsk._typing import FloatArray

__all__ = ["ITERATES", "Adaptive", "Momentum", "check_iterate", "falling_step",
           "first_kept", "train"]

#: The fraction of the iterates, counted from the end, to average; "random" returns one iterate.
ITERATES = {"average": 1.0, "half": 0.5, "last": 0.0, "random": None, "tail": 0.25}
#: Adam's beta_2 and epsilon (Kingma and Ba, 2015).
_SQUARES, _FLOOR = 0.999, 1e-8


def check_iterate(iterate: str) -> None:
    """Raise a ValueError unless `iterate` is one of ITERATES."""
    check_choice("solver_options: iterate", iterate, ITERATES)


def first_kept(n_steps: int, iterate: str) -> int:
    """Return the index of the first step whose iterate is averaged."""
    # A random iterate is the last one of a number of steps that was drawn before the fit.
    share = ITERATES[iterate] or 0.0
    return min(n_steps - 1, int(np.ceil(n_steps * (1.0 - share))))


class Momentum:
    """Exponential mean of gradients, ``v = m v + (1 - m) g``; m in [0, 1)."""

    def __init__(self, momentum):
        self._momentum, self._mean = momentum, None

    def __call__(self, gradient):
        """Return the direction after one more gradient, which may be overwritten."""
        if not self._momentum:
            return gradient
        if self._mean is None:
            self._mean = np.zeros_like(gradient)
        gradient *= 1.0 - self._momentum
        self._mean *= self._momentum
        self._mean += gradient
        return self._mean


class Adaptive:
    """Adam: mean gradients over root mean squared gradients, both bias-corrected."""

    def __init__(self, momentum):
        self._momentum, self._mean = momentum, Momentum(momentum)
        self._squares, self._count = 0.0, 0

    def __call__(self, gradient):
        """Return the direction after one more gradient, which may be overwritten."""
        self._count += 1
        squares = _SQUARES * self._squares + (1.0 - _SQUARES) * np.square(gradient)
        self._squares = squares
        mean = self._mean(gradient) / (1.0 - self._momentum**self._count)
        return mean / (np.sqrt(squares / (1.0 - _SQUARES**self._count)) + _FLOOR)


def falling_step(first: float, t: int, n_steps: int) -> float:
    """Return the step at time t, which falls linearly from `first` to 0 at `n_steps`."""
    return first * (1.0 - t / n_steps)


def train(oracle: Any, penalty: Penalty, theta: FloatArray, *, step: float, n_steps: int,
          iterate: str, momentum: float, decay: bool, adaptive: bool) -> Result:
    """Take noisy proximal steps from a public start, and return a Result.

    Steps may use momentum or Adam. With `decay`, steps fall linearly, to ``step / n_steps`` for
    the last one. With `adaptive`, every coordinate's step is divided by the root of its mean
    squared gradient.
    """
    first = first_kept(n_steps, iterate)
    turn = Adaptive(momentum) if adaptive else Momentum(momentum)
    kept = np.zeros_like(theta)
    for t in range(n_steps):
        gradient = oracle.gradient(theta)
        gradient += penalty.gradient(theta)
        length = falling_step(step, t, n_steps) if decay else step
        theta = penalty.prox(theta - length * turn(gradient), length)
        if t >= first:
            kept += theta
    return Result(kept / (n_steps - first), n_steps)

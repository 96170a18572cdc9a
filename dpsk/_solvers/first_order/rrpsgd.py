"""Private stochastic gradient descent of a random number of rounds (RRPSGD)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.descent import default_clip_norm, default_step
from dpsk._defaults.networks import (
    network_batch_size,
    network_step,
    network_steps,
)
from dpsk._objective.requirements import FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_integer
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Gradients, Queries
from dpsk._solvers.base import Solver
from dpsk._solvers.first_order.descent import descend

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._solvers.base import Result
    from dpsk._typing import FloatArray

__all__ = ["RandomRoundDescent"]


@dataclass(frozen=True)
class RandomRoundDescent(Solver):
    r"""The iterate after a random number of noisy steps on Poisson batches.

    R is uniform on ``1 .. max_iter`` and drawn before anything else, independently of the rows.
    The solver takes R steps of `sgd` and returns the last iterate. For a smooth loss, convex or
    not, the expected gradient norm at this iterate is small.

    Privacy: R releases ``SampledGaussian(q, z)``, with z calibrated to the drawn R. R is public,
    as `n_iter_`.

    Parameters
    ----------
    max_iter : int or None
        Largest number of steps. None: ``10 / q`` rounded, at most 5000.
    learning_rate : float or None
        Length of a step. None: ``min(a, sqrt(2 F_0 a) / (s sqrt(max_iter)))``, where a is
        `default_step` and F_0 is the public bound on the loss at theta = 0. The variance of a
        noisy batch gradient is ``s^2 = C^2 (1 - q) / (q n) + 4 C^2 max_iter d / (n mu)^2``.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: see `default_clip_norm`.
    batch_size : int or None
        Expected batch size. None: 256, at most n; n itself means full batches.
    rounds : int or None
        R, at most `max_iter`. None: drawn at random.

    Notes
    -----
    For networks, defaults follow `dpsk._defaults.networks`.

    References
    ----------
    Zhang, Zheng, Mou, Wang (2017), Algorithm 2 and Theorem 5. The published steps and
    distribution of R use a constant computed from the data; here it is a public bound.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    rounds: int | None = None

    asks: ClassVar[type[Queries]] = Gradients
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP)

    def configured(self, problem: Problem) -> Self:
        own = self._on_rows(problem) if problem.model.is_linear else self._on_networks(problem)
        rounds = own.max_iter
        if self.rounds is not None:
            rounds = check_integer("solver_options: rounds", self.rounds, low=1, high=rounds,
                                   remedy=f"None, or an int in [1, {rounds}], the longest run")
        return replace(own, rounds=rounds)

    def _on_networks(self, problem):
        clip_norm = default_clip_norm(problem, self.clip_norm)
        max_iter = self.max_iter or network_steps(problem)
        # Constant steps must be shorter than steps that decay.
        learning_rate = self.learning_rate or 0.25 * network_step(problem, clip_norm, max_iter)
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate, max_iter=max_iter,
                       batch_size=network_batch_size(problem, self.batch_size))

    def _on_rows(self, problem):
        n_samples = problem.n_samples
        clip_norm = default_clip_norm(problem, self.clip_norm)
        batch_size = min(n_samples, self.batch_size or 256)
        max_iter = self.max_iter or min(5000, max(1, round(10 * n_samples / batch_size)))
        learning_rate = self.learning_rate
        if learning_rate is None:
            learning_rate = _theorem_step(problem, clip_norm, batch_size, max_iter)
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate,
                       batch_size=batch_size, max_iter=max_iter)

    def drawn(self, planned: Any, draw_index: Callable[[int], int]) -> Self:
        if self.rounds is not None:
            return self
        return replace(self, rounds=1 + draw_index(planned.max_iter))

    def queries(self, problem: Problem) -> Gradients:
        answers = NoisySums(batch_plan(problem.n_samples, self.batch_size), self.rounds)
        return Gradients(answers, self.clip_norm)

    def public_facts(self, problem: Problem) -> tuple[str, ...]:
        return (f"the number of rounds, drawn from 1 to {self.max_iter} apart from the rows",)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        return descend(oracle, penalty, theta, step=self.learning_rate, n_steps=self.rounds,
                       iterate="last", momentum=lambda t: 0.0)


def _theorem_step(problem, clip_norm, batch_size, max_iter):
    """Return the constant step of Theorem 5 with a public bound in place of its D_F."""
    longest = default_step(problem, clip_norm)
    signal = problem.n_samples * problem.mu
    sampling = 1.0 / batch_size - 1.0 / problem.n_samples
    variance = clip_norm**2 * (sampling + 4.0 * max_iter * problem.model.dimension / signal**2)
    # The default step is used in place of the inverse smoothness.
    distance = np.sqrt(2.0 * problem.risk_at_zero * longest)
    return float(min(longest, distance / np.sqrt(variance * max_iter)))

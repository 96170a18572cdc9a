"""Base class of variance-reduced solvers: the budget, the epochs, and the step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.descent import slope_bound
from dpsk._objective.requirements import BOUNDED_CURVATURE, FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_integer, check_real
from dpsk._privacy.batches import FullBatch, batch_plan
from dpsk._privacy.plans import NoisySums
from dpsk._problem import full_clip_norm
from dpsk._queries import Differences, Queries
from dpsk._solvers.base import Solver

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._problem import Problem

__all__ = ["AnchoredDescent", "balanced_steps"]

_BATCH = 512
#: Assumed norm of coefficients times the norm of rows, for the default number of steps.
_REACH = 5.0


@dataclass(frozen=True)
class AnchoredDescent(Solver):
    """Descent by noisy differences from an anchor with one noisy gradient per epoch.

    Subclasses document the fields and their defaults.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    epochs: int | None = None
    anchor_share: float = 0.5

    default_epochs: ClassVar[int]
    asks: ClassVar[type[Queries]] = Differences
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP, BOUNDED_CURVATURE)
    # Differences are clipped at the largest curvature of a row, far above that of the mean
    # loss on whitened rows.
    whitens: ClassVar[bool] = False

    if TYPE_CHECKING:
        def _default_step(self, problem: Problem) -> float: ...
        def _default_steps(self, problem: Problem, epochs: int, clip_norm: float) -> int: ...
        def _skipped(self, lengths: Any) -> int: ...

    def configured(self, problem: Problem) -> Self:
        if self.epochs is not None:
            check_integer("solver_options: epochs", self.epochs, low=1,
                          remedy="None, or an int >= 1")
        check_real("solver_options: anchor_share", self.anchor_share, low=0, high=1,
                   open_low=True, open_high=True, remedy="a number between 0 and 1")
        full = full_clip_norm(problem)
        clip_norm = full if self.clip_norm is None else min(self.clip_norm, full)
        if not np.isfinite(clip_norm):
            clip_norm = slope_bound(problem) * problem.model.radius
        epochs = self.epochs or self.default_epochs
        return replace(
            self, clip_norm=clip_norm, epochs=epochs,
            learning_rate=self.learning_rate or self._default_step(problem),
            max_iter=self.max_iter or self._default_steps(problem, epochs, clip_norm),
            batch_size=min(problem.n_samples, self.batch_size or _BATCH))

    def queries(self, problem: Problem) -> Differences:
        lengths = self._lengths()
        batches = batch_plan(problem.n_samples, self.batch_size)
        differences = sum(lengths) - self._skipped(lengths)
        rate = batches.expected_size(problem.n_samples) / problem.n_samples
        ratio = 1.0
        if differences:
            # mu^2 is 4 / (ratio z)^2 for an anchor, and about (2 rate / z)^2 for a difference.
            odds = self.anchor_share / (1.0 - self.anchor_share)
            ratio = math.sqrt(len(lengths) / (odds * differences)) / rate
        return Differences(NoisySums(FullBatch(), len(lengths), ratio),
                           NoisySums(batches, differences), self.clip_norm)

    def _lengths(self):
        """Return the number of steps of every epoch, without empty epochs."""
        ends = (math.ceil(self.max_iter * part) for part in self._parts())
        return [after - before for before, after in pairwise((0, *ends)) if after > before]

    def _epoch(self, oracle, penalty, anchor, theta, gradient, step, length):
        """Take `length` steps from `theta`; return the iterates' average and the last one."""
        total = np.zeros_like(theta)
        for _ in range(length):
            move = oracle.difference(theta, anchor)
            move += gradient
            move += penalty.gradient(theta)
            move *= -step
            move += theta
            theta = penalty.prox(move, step)
            total += theta
        # A single iterate is its own average; a sum would lose the signs of zeros.
        return theta if length == 1 else total / length, theta


def balanced_steps(problem: Problem, clip_norm: float) -> float:
    """Return the T at which T steps of the inverse smoothness balance bias and noise.

    The bias is ``B^2 beta / (2 T)`` for coefficients of norm B; the noise is that of T full-batch
    gradients.
    """
    signal = problem.n_samples * problem.mu
    pull = _REACH / problem.model.radius * problem.smoothness / clip_norm
    return pull * signal / (2.8 * math.sqrt(problem.model.dimension))

"""Variance-reduced stochastic descent (DP-SVRG)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._parameters import check_choice
from dpsk._solvers.base import Result
from dpsk._solvers.variance_reduced.anchored import AnchoredDescent, balanced_steps

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["VarianceReducedDescent"]

#: The fewest and the most steps of an epoch by default.
_EPOCH_STEPS = 100, 1000


@dataclass(frozen=True)
class VarianceReducedDescent(AnchoredDescent):
    r"""Proximal steps along an anchor's noisy gradient plus noisy differences from it.

    Each epoch asks for one full-batch gradient at the anchor. Its steps add the gradient's
    difference from the anchor on a Poisson batch, clipped and noised in proportion to the
    distance from the anchor. The next anchor is the average of the epoch's iterates.

    Privacy: S releases ``Gaussian(2 / (r z))`` and at most ``T - S`` releases
    ``SampledGaussian(q, z)``, with a public ratio r.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps of all epochs. None: each epoch has ``1 / (step ridge)`` steps, at
        most `balanced_steps`, within [100, 1000].
    learning_rate : float or None
        Length of a step. None: a third of the inverse smoothness.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: the bound that loss and row norms imply, so
        that nothing is clipped.
    batch_size : int or None
        Expected batch size. None: 512, at most n; n itself means full batches.
    epochs : int or None
        S, of T / S steps each. None: 5.
    anchor_share : float
        Approximate fraction of mu^2 for the anchors' gradients.
    step : {"fixed", "bb"}
        "bb": from the second epoch on, the Barzilai-Borwein step divided by the epoch's length.
        It uses private outputs only, and lies between a tenth and three times the learning rate.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 1, with other noise and accounting. Tan, Ma, Dai, Qian (2016)
    for the step.
    """

    step: str = "fixed"

    default_epochs: ClassVar[int] = 5

    def configured(self, problem: Problem) -> Self:
        check_choice("solver_options: step", self.step, ["fixed", "bb"])
        return super().configured(problem)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        anchor, earlier, step = theta, None, self.learning_rate
        for length in self._lengths():
            gradient = oracle.gradient(anchor)
            if self.step == "bb":
                full = gradient + penalty.gradient(anchor)
                step = self._secant_step(earlier, (anchor, full), length)
                earlier = anchor, full
            anchor, _ = self._epoch(oracle, penalty, anchor, anchor, gradient, step, length)
        return Result(anchor, self.max_iter)

    def _secant_step(self, earlier, now, length):
        """Return the Barzilai-Borwein step, within a factor of the learning rate."""
        if earlier is None:
            return self.learning_rate
        move, change = now[0] - earlier[0], now[1] - earlier[1]
        slope = float(np.vdot(move, change)) * length
        step = float(np.vdot(move, move)) / slope if slope > 0 else np.inf
        return float(np.clip(step, self.learning_rate / 10, 3 * self.learning_rate))

    def _parts(self):
        return ((s + 1) / self.epochs for s in range(self.epochs))

    def _skipped(self, lengths):
        """Return the number of steps at an anchor: the first step of every epoch."""
        return len(lengths)

    def _default_steps(self, problem, epochs, clip_norm):
        balanced, ridge = balanced_steps(problem, clip_norm), problem.penalty.smoothness
        if ridge:
            # 1 / (step ridge) steps reduce the distance to about a third for any rows.
            balanced = min(balanced, 1.0 / (self._default_step(problem) * ridge))
        return epochs * int(np.clip(math.ceil(balanced), *_EPOCH_STEPS))

    def _default_step(self, problem):
        return 1.0 / (3.0 * (problem.smoothness + problem.penalty.smoothness))

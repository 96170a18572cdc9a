"""Stochastic gradient descent on noisy Poisson batches (DP-SGD)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpsk._defaults.descent import (
    default_batch_size,
    default_batches,
    default_clip_norm,
    default_step,
)
from dpsk._defaults.groups import default_group_clip, group_step
from dpsk._defaults.networks import (
    ADAPTIVE_STEP,
    MOMENTUM,
    network_batch_size,
    network_iterate,
    network_step,
    network_steps,
)
from dpsk._defaults.noiseless import noiseless_descent
from dpsk._objective.requirements import FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_flag, check_real
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Gradients, Queries
from dpsk._solvers.first_order.descent import GroupClipped, descend
from dpsk._solvers.steps import check_iterate, train

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._solvers.base import Result
    from dpsk._typing import FloatArray

__all__ = ["StochasticGradientDescent"]


@dataclass(frozen=True)
class StochasticGradientDescent(GroupClipped):
    r"""Proximal gradient descent on noisy gradients of Poisson batches.

    Every row enters a batch independently with probability ``q = batch_size / n``; the
    answer is ``(1/(q n)) [sum over the batch of clipped gradients + N(0, (z C)^2 I)]``.

    Privacy: T releases ``SampledGaussian(q, z)``. The realized batch sizes stay secret.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps. None: ``k / q`` within [15, 5000]. The number of passes is
        ``k = 0.4 sqrt(signal)`` within [3, 10], with ``signal = n mu / n_columns``.
    learning_rate : float or None
        Length of a step. None: see `default_step`.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: see `default_clip_norm`.
    batch_size : int or None
        Expected batch size. None: a fifth of the rows, at least 256; n itself means full batches.
    iterate : {"tail", "half", "last", "average", "random"} or None
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": return
        one of the first `max_iter`, whose index is drawn before the noise is calibrated. None:
        "half" for networks on whitened rows, else "tail".
    momentum : float in [0, 1) or None
        The m of ``v = m v + (1 - m) g``, the direction of a step. None: 0, or 0.7 for networks.
    decay : bool or None
        Whether steps fall linearly to 0. None: only for networks.
    adaptive : bool or None
        Whether to divide each coordinate by the root of its mean squared noisy gradient (Adam).
        None: no.
    group_clip_norm : float or None
        Clip norm of a group's contribution, for linear models on grouped rows. None: see
        `default_group_clip`.

    Notes
    -----
    For linear models at an infinite epsilon, defaults of clip norm, step and number of steps
    follow `dpsk._defaults.noiseless`. For networks, defaults follow `dpsk._defaults.networks`.

    References
    ----------
    Bassily, Smith, Thakurta (2014), Algorithm 1; Abadi et al. (2016), Algorithm 1. Accounting
    here uses the replace-one relation.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    iterate: str | None = None
    momentum: float | None = None
    decay: bool | None = None
    adaptive: bool | None = None

    asks: ClassVar[type[Queries]] = Gradients
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP)
    takes_temperature: ClassVar[bool] = True
    takes_unit = True
    without_noise: ClassVar[bool] = True

    def configured(self, problem: Problem) -> Self:
        if self.iterate is not None:
            check_iterate(self.iterate)
        network = not problem.model.is_linear
        own = replace(self._with_updates(network),
                      iterate=self.iterate or (network_iterate(problem) if network else "tail"))
        return own._on_networks(problem) if network else own._on_rows(problem)

    def _with_updates(self, network):
        momentum, decay, adaptive = self.momentum, self.decay, self.adaptive
        if momentum is None:
            momentum = MOMENTUM if network else 0.0
        momentum = check_real("solver_options: momentum", momentum, low=0, high=1, open_high=True,
                              remedy="None, or a number in [0, 1)")
        decay = network if decay is None else check_flag("solver_options: decay", decay)
        adaptive = adaptive is not None and check_flag("solver_options: adaptive", adaptive)
        return replace(self, momentum=momentum, decay=decay, adaptive=adaptive)

    def _on_networks(self, problem):
        clip_norm = default_clip_norm(problem, self.clip_norm)
        default_group_clip(problem, clip_norm, self.group_clip_norm)
        max_iter = self.max_iter or network_steps(problem)
        learning_rate = self.learning_rate
        if learning_rate is None:
            learning_rate = (ADAPTIVE_STEP if self.adaptive
                             else network_step(problem, clip_norm, max_iter))
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate, max_iter=max_iter,
                       batch_size=network_batch_size(problem, self.batch_size))

    def _on_rows(self, problem):
        n_samples, learning_rate = problem.n_samples, self.learning_rate
        if learning_rate is None and self.adaptive:
            learning_rate = ADAPTIVE_STEP
        batch_size = default_batch_size(n_samples, self.batch_size)
        max_iter = self.max_iter or default_batches(problem, batch_size)
        if problem.is_private:
            clip_norm = default_clip_norm(problem, self.clip_norm)
            group_clip = default_group_clip(problem, clip_norm, self.group_clip_norm)
            if learning_rate is None:
                learning_rate = default_step(problem, clip_norm) * group_step(
                    clip_norm, group_clip)
        else:
            clip_norm, learning_rate, max_iter = noiseless_descent(
                problem, self.clip_norm, learning_rate, self.max_iter)
            group_clip = default_group_clip(problem, clip_norm, self.group_clip_norm)
        return replace(self, clip_norm=clip_norm, learning_rate=learning_rate,
                       group_clip_norm=group_clip, batch_size=batch_size, max_iter=max_iter)

    def queries(self, problem: Problem) -> Gradients:
        answers = NoisySums(batch_plan(problem.n_samples, self.batch_size), self.max_iter)
        return Gradients(answers, self.clip_norm, self.group_clip_norm)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        run: Any = {"step": self.learning_rate, "n_steps": self.max_iter, "iterate": self.iterate}
        if self.momentum or self.decay or self.adaptive:
            return train(oracle, penalty, theta, **run, momentum=self.momentum,
                         decay=self.decay, adaptive=self.adaptive)
        return descend(oracle, penalty, theta, **run, momentum=lambda t: 0.0)

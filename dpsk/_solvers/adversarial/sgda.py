"""DP-SGDA of a WGAN: noisy critic steps, and generator steps as post-processing."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.adversarial import (
    AVERAGING,
    CRITIC_STEPS,
    LEARNING_RATE,
    MOMENTUM,
    adversarial_rounds,
    generator_rate,
)
from dpsk._defaults.networks import network_batch_size
from dpsk._models.class_laws import ClassLaws, following
from dpsk._models.generator import Generator
from dpsk._objective.requirements import FINITE_CLIP, POSITIVE_DELTA
from dpsk._parameters import check_integer, check_real
from dpsk._privacy.batches import batch_plan
from dpsk._privacy.plans import NoisySums
from dpsk._queries import CriticGradients, Queries
from dpsk._solvers.base import Result, Solver
from dpsk._solvers.steps import Adaptive, falling_step

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    from dpsk._objective.penalties.base import Penalty
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray, IntArray

__all__ = ["AdversarialDescentAscent", "GeneratedBatch"]

#: Fields that the estimator and the fit set; they are not solver options.
_OWN = ("generator", "near", "key", "shares", "laws")


@dataclass(frozen=True)
class AdversarialDescentAscent(Solver):
    r"""Rounds of `critic_steps` critic steps and one generator step, both by Adam.

    The critic steps along the noisy mean score gradient of a Poisson batch, minus the mean
    gradient on generated rows, which is clipped in the same way. The generator steps along the
    gradient of the mean score of generated rows, which uses no row of the table. Steps fall
    linearly to 0. The result holds an exponential mean of the generator's weights.

    Privacy: ``max_iter critic_steps`` releases ``SampledGaussian(q, z)``. The published algorithm
    also adds noise to the generator's gradient. That would protect nothing, because the gradient
    is post-processing.

    Parameters
    ----------
    max_iter : int or None
        Number of rounds. None: see `adversarial_rounds`.
    learning_rate : float or None
        First step of the critic. None: 2e-3.
    clip_norm : float or None
        Clip norm of the gradient of one row's score. None: 1.
    batch_size : int or None
        Expected batch size. None: a 15th of the rows, within [256, 8192].
    generator_learning_rate : float or None
        First step of the generator. None: 5e-4, or 1e-5 with `near`.
    critic_steps : int
        Steps of the critic per round.
    momentum : float in [0, 1)
        Momentum of both networks' steps.
    averaging : float in [0, 1)
        Decay factor per round of the exponential mean of generators.

    Other Parameters
    ----------------
    generator : Generator
        The generator network that the estimator plans.
    near : bool
        Whether the generator starts from private distributions of rows, released before the
        critic's gradients.
    key : int
        Key of the public randomness, drawn before the fit.
    shares : tuple of float
        Class frequencies among generated rows.
    laws : ClassLaws or None
        The private distributions to start the generator from. None: it starts from normally
        distributed weights.

    References
    ----------
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), Algorithm 1 and section 9.2. There, both gradients
    are noised and the critic makes one step per round.
    """

    max_iter: int | None = None
    learning_rate: float | None = None
    clip_norm: float | None = None
    batch_size: int | None = None
    generator_learning_rate: float | None = None
    critic_steps: int = CRITIC_STEPS
    momentum: float = MOMENTUM
    averaging: float = AVERAGING
    generator: Generator | None = None
    near: bool = False
    key: int = 0
    shares: tuple | None = None
    laws: ClassLaws | None = None

    asks: ClassVar[type[Queries]] = CriticGradients
    requires: ClassVar[tuple] = (POSITIVE_DELTA, FINITE_CLIP)
    without_noise: ClassVar[bool] = True

    @classmethod
    def options(cls) -> list[str]:
        return sorted(f.name for f in fields(cls) if f.name not in _OWN)

    def configured(self, problem: Problem) -> Self:
        check_integer("solver_options: critic_steps", self.critic_steps, low=1,
                      remedy="an int >= 1")
        for name in ("momentum", "averaging"):
            check_real(f"solver_options: {name}", getattr(self, name), low=0, high=1,
                       open_high=True, remedy="a number in [0, 1)")
        rate = self.generator_learning_rate
        if rate is not None:
            check_real("solver_options: generator_learning_rate", rate, low=1e-10, high=1e10,
                       remedy="None, or a number in [1e-10, 1e10]")
        return replace(
            self, max_iter=self.max_iter or adversarial_rounds(problem, self.near),
            learning_rate=self.learning_rate or LEARNING_RATE,
            batch_size=network_batch_size(problem, self.batch_size),
            generator_learning_rate=rate or generator_rate(self.near),
            clip_norm=1.0 if self.clip_norm is None else self.clip_norm,
            shares=problem.loss.shares, laws=problem.loss.laws)

    def drawn(self, planned: Any, draw_index: Callable[[int], int]) -> Self:
        return replace(self, key=draw_index(1 << 62))

    def queries(self, problem: Problem) -> CriticGradients:
        batches = batch_plan(problem.n_samples, self.batch_size)
        return CriticGradients(NoisySums(batches, self.max_iter * self.critic_steps),
                               self.clip_norm)

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        draws = oracle.public_draws(self.key)
        made = self.generator.initial(draws.normals)
        if self.laws is not None:
            made = following(self.generator, made, self.laws, draws.normals)
        batch = GeneratedBatch(self.generator, draws, self.shares, self.batch_size)
        turn, back = Adaptive(self.momentum), Adaptive(self.momentum)
        mean, pull = np.zeros(len(made)), self._puller(oracle)
        for t in range(self.max_iter):
            for _ in range(self.critic_steps):
                rows, classes = batch(made)
                gradient = oracle.gradient(theta)
                gradient += oracle.opposed(theta, rows, classes)
                gradient += penalty.gradient(theta)
                theta = theta - falling_step(self.learning_rate, t, self.max_iter) * turn(gradient)
            step = falling_step(self.generator_learning_rate, t, self.max_iter)
            made = made - (step * back(pull(batch, made, theta))).astype(np.float32)
            mean = self.averaging * mean + (1.0 - self.averaging) * made
        mean /= 1.0 - self.averaging**self.max_iter
        return Result(np.concatenate([theta, mean]), self.max_iter)

    def _puller(self, oracle):
        """Return the function of (batch, generator, critic) for the generator's gradient."""
        def pull(batch, made, theta):
            return batch.pulled(batch.drawn(), made, oracle, theta)
        return pull


class GeneratedBatch:
    """Batches of generated rows, from public randomness.

    A call with a generator's weights returns rows and the indices of their classes.
    """

    def __init__(self, generator, draws, shares, size):
        self._generator, self._draws, self._size = generator, draws, size
        self._shares = np.array([shares])

    def __call__(self, made):
        noise, classes = self.drawn()
        return self._generator.forward(made, noise, classes).rows, classes

    def drawn(self) -> tuple[FloatArray, IntArray]:
        """Return the noise and the classes of a new batch."""
        classes = self._draws.choices(self._shares, np.zeros(self._size, np.intp))
        noise = self._draws.normals((self._size, self._generator.n_noise))
        return noise.astype(np.float32), classes

    def pulled(self, drawn: tuple[FloatArray, IntArray], made: FloatArray, oracle: Any,
               theta: FloatArray) -> FloatArray:
        """Return the generator's gradient of minus the mean score of a batch."""
        generation = self._generator.forward(made, *drawn)
        return generation.gradient(oracle.pull(theta, generation.rows, drawn[1]))

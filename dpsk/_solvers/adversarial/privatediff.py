"""PrivateDiff of a WGAN: noisy critic steps, and a running generator gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._parameters import check_integer
from dpsk._solvers.adversarial.sgda import AdversarialDescentAscent

if TYPE_CHECKING:
    from typing_extensions import Self

    from dpsk._problem import Problem

__all__ = ["AdversarialPrivateDiff"]


@dataclass(frozen=True)
class AdversarialPrivateDiff(AdversarialDescentAscent):
    r"""PrivateDiff of a WGAN: the generator's gradient is updated by differences.

    Every `period` rounds, the estimate is the gradient on a batch of generated rows. In other
    rounds, the solver adds the change of the gradient since the last round, evaluated on one new
    batch.

    Privacy: as for "sgda", ``max_iter critic_steps`` releases ``SampledGaussian(q, z)``. The
    published algorithm also clips and noises the differences. That would protect nothing, because
    generated rows are public.

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
    period : int
        Number of rounds after which the estimate is computed anew.

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
    Zhang, Lei, Ding, Xiang, Xu, Wang (2025), Algorithm 3 and section 9.2, with T2 = 2.
    """

    period: int = 2

    def configured(self, problem: Problem) -> Self:
        check_integer("solver_options: period", self.period, low=1, remedy="an int >= 1")
        return super().configured(problem)

    def _puller(self, oracle):
        estimate, last, count = None, None, 0

        def pull(batch, made, theta):
            nonlocal estimate, last, count
            drawn = batch.drawn()
            gradient = batch.pulled(drawn, made, oracle, theta)
            if count % self.period:
                gradient = estimate + gradient - batch.pulled(drawn, last[0], oracle, last[1])
            estimate, last, count = gradient, (made, theta), count + 1
            return gradient.copy()
        return pull

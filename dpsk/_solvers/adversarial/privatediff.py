"""A critic's noisy steps, and a generator that follows a running estimate of its gradient."""

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
    r"""PrivateDiff of a WGAN: the generator's gradient is an estimate updated by differences.

    Every `period` rounds the estimate is the gradient on a batch of generated rows; between them
    the change of the gradient since the last round, both on one new batch, is added to it.

    Privacy: that of "sgda", ``max_iter critic_steps`` releases ``SampledGaussian(q, z)``, as all
    of the generator's rows are public: noise and clips on the differences, as printed, would
    protect nothing.

    Parameters
    ----------
    max_iter : int or None
        Rounds. None: see `adversarial_rounds`.
    learning_rate : float or None
        Step of the critic. None: 2e-3.
    clip_norm : float or None
        Of the gradient of one row's score. None: 1.
    batch_size : int or None
        None: a 15th of the rows, within [256, 8192].
    generator_learning_rate : float or None
        None: 5e-4, and with `near` 1e-5.
    critic_steps : int
        Of a round.
    momentum : float in [0, 1)
        Of both.
    averaging : float in [0, 1)
        What the mean of the generators keeps in a round.
    period : int
        Rounds between two estimates from anew.

    Other Parameters
    ----------------
    generator : Generator
        The network, as the estimator plans it.
    near : bool
        Whether it starts from laws of rows, which are released before the critic's gradients.
    key : int
        Of the public draws; drawn before the fit.
    shares : tuple of float
        Of the classes among generated rows.
    laws : ClassLaws or None
        Released; what the generator starts from, rather than from normal weights alone.

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

"""Variance-reduced stochastic descent with doubling epochs (DP-SVRG++)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._solvers.base import Result
from dpsk._solvers.variance_reduced.anchored import AnchoredDescent, balanced_steps

if TYPE_CHECKING:
    from typing import Any

    from dpsk._objective.penalties.base import Penalty
    from dpsk._typing import FloatArray

__all__ = ["DoublingVarianceReducedDescent"]

#: The fewest and the most steps by default.
_STEPS = 100, 10_000


@dataclass(frozen=True)
class DoublingVarianceReducedDescent(AnchoredDescent):
    r"""Variant of ``svrg`` whose epochs double in length, without strong convexity.

    The next anchor is the average of the epoch's iterates. The next epoch starts from the last
    iterate.

    Privacy: S releases ``Gaussian(2 / (r z))`` and at most ``T - 1`` releases
    ``SampledGaussian(q, z)``, with a public ratio r.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps of all epochs. None: three times `balanced_steps`, within
        [100, 10000].
    learning_rate : float or None
        Length of a step. None: the inverse smoothness.
    clip_norm : float or None
        C, the clip norm of a row's gradient. None: the bound that loss and row norms imply, so
        that nothing is clipped.
    batch_size : int or None
        Expected batch size. None: 512, at most n; n itself means full batches.
    anchor_share : float
        Approximate fraction of mu^2 for the anchors' gradients.
    epochs : int or None
        S. Epoch s of 1 to S has ``2^s T / (2^(S+1) - 2)`` steps. None: 3.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 2, with other noise and accounting.
    """

    default_epochs: ClassVar[int] = 3

    def minimize(self, oracle: Any, penalty: Penalty, theta: FloatArray) -> Result:
        anchor = theta
        for length in self._lengths():
            gradient = oracle.gradient(anchor)
            anchor, theta = self._epoch(oracle, penalty, anchor, theta, gradient,
                                        self.learning_rate, length)
        return Result(anchor, self.max_iter)

    def _parts(self):
        return ((2**(s + 1) - 1) / (2**self.epochs - 1) for s in range(self.epochs))

    def _skipped(self, lengths):
        """Return the number of steps at an anchor: the first, and any after single steps."""
        return 1 + sum(length == 1 for length in lengths[:-1])

    def _default_steps(self, problem, epochs, clip_norm):
        return int(np.clip(round(3.0 * balanced_steps(problem, clip_norm)), *_STEPS))

    def _default_step(self, problem):
        return 1.0 / (problem.smoothness + problem.penalty.smoothness)

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
    r"""As ``svrg``, for losses without strong convexity: epochs double in length.

    The next anchor is the average of the epoch's iterates, but the next epoch starts from the
    last of them.

    Privacy: S releases ``Gaussian(2 / (r z))`` and at most ``T - 1`` releases
    ``SampledGaussian(q, z)``, with a public ratio r.

    Parameters
    ----------
    max_iter : int or None
        T, the number of steps of all epochs. None: thrice `balanced_steps`, within
        [100, 10000].
    learning_rate : float or None
        None: the inverse smoothness.
    clip_norm : float or None
        C. None: the bound that loss and row norms imply, so that nothing is clipped.
    batch_size : int or None
        Expected batch size. None: 512, at most n; n itself means full batches.
    anchor_share : float
        Share of the Gaussian budget, about, that the anchors' gradients take.
    epochs : int or None
        S, of which the s-th has ``2^s T / (2^(S+1) - 2)`` steps. None: 3.

    References
    ----------
    Wang, Ye, Xu (2017), Algorithm 2; its noise and its accounting are replaced.
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
        """Return the number of steps at an anchor: the first, and those after single steps."""
        return 1 + sum(length == 1 for length in lengths[:-1])

    def _default_steps(self, problem, epochs, clip_norm):
        return int(np.clip(round(3.0 * balanced_steps(problem, clip_norm)), *_STEPS))

    def _default_step(self, problem):
        return 1.0 / (problem.smoothness + problem.penalty.smoothness)

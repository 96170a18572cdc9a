"""Stable gradient descent on disjoint batches, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from dpsk._queries import CheckedGradients
from dpsk._solvers.holdout.stgd import StableGradientDescent

if TYPE_CHECKING:

    from typing_extensions import Self

    from dpsk._problem import Problem

__all__ = ["MiniBatchStableGradientDescent"]

_BATCHES, _ROUNDS = 4, 5


@dataclass(frozen=True)
class MiniBatchStableGradientDescent(StableGradientDescent):
    r"""StGD on disjoint batches, from a secret random partition of the rows.

    Each of ``K = n // batch_size`` disjoint batches answers up to ``ceil(max_iter / K)`` queries.

    Privacy: the privacy cost is that of one batch, because a row affects only its own batch:
    ``T_1 = ceil(max_iter / K)`` comparisons and answers, as for `stgd`. Sampling does not amplify
    privacy.

    Parameters
    ----------
    max_iter : int or None
        Number of steps over all batches. None: ``5 K``.
    learning_rate : float or None
        Length of a step. None: see `default_step`.
    clip_norm : float or None
        C, in l2 norm, or in l1 norm with Laplace noise. None: as for `stgd`.
    noise : {"gaussian", "laplace"} or None
        None: "gaussian" for delta > 0, "laplace" at ``delta=0``.
    holdout : {"private", "public"}
        Hold-out: half of each batch ("private"), or ``public_X`` and ``public_y`` of `fit`
        ("public").
    iterate : {"tail", "half", "last", "average", "random"}
        Iterates to average: the last quarter ("tail"), the last half, or all. "random": return
        one iterate, whose index is drawn before the noise is calibrated.
    batch_size : int or None
        Number of rows in a batch with its hold-out half; at least 2. None: a quarter of the rows.

    References
    ----------
    Zhou, Chen, Banerjee (2018), mini-batch stable gradient descent and Theorem 5. It
    differs from the article in the same points as `stgd`.
    """

    batch_size: int | None = None

    def configured(self, problem: Problem) -> Self:
        n_samples = problem.n_samples
        if self.batch_size is not None and self.batch_size < 2:
            raise ValueError(f"batch_size={self.batch_size!r}: must be at least 2 with this "
                             "solver, a row to ask and a row to compare with.")
        batch_size = min(n_samples, self.batch_size or max(2, n_samples // _BATCHES))
        steps = self.max_iter or _ROUNDS * (n_samples // batch_size)
        return replace(super().configured(problem), batch_size=batch_size, max_iter=steps)

    def public_facts(self, problem: Problem) -> tuple[str, ...]:
        plan = self.queries(problem)
        return (f"the split of the rows into {plan.batches} disjoint batches; the releases above "
                "are those of one batch, as a row pays for its own batch alone",
                *super().public_facts(problem))

    def queries(self, problem: Problem) -> CheckedGradients:
        batches = problem.n_samples // self.batch_size
        return CheckedGradients(self.clip_norm, ceil(self.max_iter / batches), batches,
                                pure=self.noise == "laplace",
                                public_holdout=self.wants_holdout)

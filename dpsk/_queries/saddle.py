"""Noisy gradients of both blocks of a saddle problem, in one release."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import SaddleAnswers

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._mechanism.session import Session
    from dpsk._queries.context import Context
    from dpsk._typing import FloatArray

__all__ = ["SaddleOracle"]


class SaddleOracle(SaddleAnswers):
    """Answer with ``(1/m) [ sums of clipped gradients + noise ]`` of both blocks at once.

    Both sums are over one batch and leave together, so that one event covers the pair; two
    events would need two batches.
    """

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the rows of a `Context`, whose clips are (primal, dual)."""
        return cls(cls.opened_sums(context), context.declared, context.noise_multiplier,
                   context.session)

    def __init__(self, sums: Any, declared: Any, noise_multiplier: float,
                 session: Session) -> None:
        batches, share = declared.batches, declared.dual_share
        self._sums, self._session = sums, session
        self._event = batches.release(noise_multiplier)
        most = sums.model.rounding_terms(batches.largest_size(sums.n_samples))
        # Of the square of what the pair moves, in the units of its noise, each has its share.
        self._moved = (
            Sensitivity(REPLACE_ONE * sums.primal_clip / math.sqrt(1.0 - share), terms=most,
                        size=sums.primal_size),
            Sensitivity(REPLACE_ONE * sums.dual_clip / math.sqrt(share), terms=most,
                        size=sums.loss.dual_set.size))
        self._divisor = batches.expected_size(sums.n_samples)
        self._batches = session.batches(batches, sums.n_samples, declared.count)

    def gradients(self, primal: FloatArray, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the noisy mean gradients, primal and dual, at public points, float64."""
        return self._session(
            self._event, lambda batch: self._sums.gradients(primal, dual, batch.rows),
            *self._moved, divisor=self._divisor, batches=self._batches)

"""Noisy primal and dual gradients of a saddle problem, in one query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.plans import NoisySums
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import SaddleAnswers, SaddleQueries

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["SaddleGradients", "SaddleOracle"]


@dataclass(frozen=True)
class SaddleGradients(SaddleQueries):
    """Joint noisy gradients of both blocks of a saddle problem.

    The two sums, each divided by the scale of its noise, form one vector. With noise multipliers
    ``z / sqrt(1 - dual_share)`` for the primal and ``z / sqrt(dual_share)`` for the dual block,
    the pair is one noisy sum with multiplier z.

    Parameters
    ----------
    answers : NoisySums
    dual_share : float
    primal_clip, dual_clip : float
        Clip norms of a row's primal gradient, before its weight in the loss, and of its dual one.
    """

    answers: NoisySums
    dual_share: float
    primal_clip: float
    dual_clip: float

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all answers."""
        return self.answers(noise_multiplier)

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> SaddleOracle:
        """Return the oracle over rows."""
        return SaddleOracle(self.sums(data), self, noise_multiplier, session)


class SaddleOracle(SaddleAnswers):
    """Answer with ``(1/m) [ sums of clipped gradients + noise ]`` of both blocks at once.

    Both sums are over the same batch and are released together, so one event covers the pair.
    Two events would need two batches.
    """

    def __init__(self, sums: Any, asked: SaddleGradients, noise_multiplier: float,
                 session: Session) -> None:
        batches, share = asked.answers.batches, asked.dual_share
        self._sums, self._session = sums, session
        self._event = asked.answers.release(noise_multiplier)
        most = sums.model.rounding_terms(batches.largest_size(sums.n_samples))
        self._share, self._terms = share, most
        self._dual_moved = Sensitivity(REPLACE_ONE * sums.dual_clip / math.sqrt(share),
                                       terms=most, size=sums.loss.dual_set.size)
        self._divisor = batches.expected_size(sums.n_samples)
        self._batches = session.batches(batches, sums.n_samples, asked.answers.count)

    def gradients(self, primal: FloatArray, dual: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the noisy mean gradients, primal and dual, at public points, float64.

        The primal noise is proportional to the bound on a row's weighted gradient at `dual`.
        """
        # The squared movements of the blocks, in units of their noise, add up to that of the pair.
        moved = Sensitivity(
            REPLACE_ONE * self._sums.primal_bound(dual) / math.sqrt(1.0 - self._share),
            terms=self._terms, size=self._sums.primal_size)
        descent, ascent = self._session(
            self._event, lambda batch: self._sums.gradients(primal, dual, batch.rows),
            moved, self._dual_moved, divisor=self._divisor, batches=self._batches)
        return descent, ascent * self.dual_set.unit

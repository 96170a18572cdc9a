r"""Noisy gradients at an anchor, and noisy differences of gradients from it.

A row's difference has norm at most ``c = min(2 C, beta ||theta - anchor||)``. Both gradients are
clipped at C, and a clipped gradient is as smooth as the loss, because radial clipping never
increases distances. For losses whose derivatives keep their sign, C replaces 2 C. Both points
are public, hence c is public, and noise proportional to c has the same privacy cost for every c.
Differences are clipped to c, so the guarantee does not rest on the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import Composed
from dpsk._privacy.plans import NoisySums
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle, Queries, row_sums
from dpsk._sums.differences import DifferenceSums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["DifferenceOracle", "Differences"]


@dataclass(frozen=True)
class Differences(Queries):
    """Noisy mean gradients at anchors, and noisy mean differences of gradients from them.

    Parameters
    ----------
    anchors : NoisySums
        Gradients at anchors, over all rows.
    changes : NoisySums
        Differences, over batches.
    clip_norm : float
        C, the clip norm of a row's gradient.
    """

    anchors: NoisySums
    changes: NoisySums
    clip_norm: float

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all answers."""
        return Composed((self.anchors(noise_multiplier), self.changes(noise_multiplier)))

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> DifferenceOracle:
        """Return the oracle over rows."""
        return DifferenceOracle(row_sums(DifferenceSums, data, self.clip_norm), self,
                                noise_multiplier, session)


class DifferenceOracle(Oracle):
    """Answer with noisy mean gradients at anchors and noisy mean differences from them.

    At an anchor the answer is ``(1/n) [ sum of clipped gradients + N(0, (r z C)^2 I) ]``, where r
    is the declared ratio. A difference is answered with ``(1/(q n)) [ sum over a batch of clipped
    differences + N(0, (z c)^2 I) ]``. Clipping, summing, noising and charging are one operation.
    The oracle computes c from the public points.
    """

    def __init__(self, sums: Any, asked: Differences, noise_multiplier: float,
                 session: Session) -> None:
        batches, n_samples = asked.changes.batches, sums.n_samples
        self._sums, self._session = sums, session
        self._normals = session.normals(sums.model.shape,
                                        asked.anchors.count + asked.changes.count)
        self._anchor_event = asked.anchors.release(noise_multiplier)
        self._anchor_moved = Sensitivity(
            REPLACE_ONE * sums.clip_norm, self._normals, terms=sums.rounding_terms(n_samples),
            size=sums.model.dimension)
        self._event = asked.changes.release(noise_multiplier)
        self._terms = sums.rounding_terms(batches.largest_size(n_samples))
        self._divisor = batches.expected_size(n_samples)
        self._batches = session.batches(batches, n_samples, asked.changes.count)

    def gradient(self, anchor: FloatArray) -> FloatArray:
        """Return the noisy mean gradient over all rows at the public `anchor`, float64."""
        return self._session(
            self._anchor_event, lambda batch: self._sums.anchor_gradient(anchor),
            self._anchor_moved, divisor=self._sums.n_samples)

    def difference(self, theta: FloatArray, anchor: FloatArray) -> FloatArray:
        """Return the noisy mean of ``gradient(theta) - gradient(anchor)`` over a batch, float64.

        Both points are public. `anchor` must be the point of the last call of `gradient`, or a
        ValueError is raised. If both points are equal, nothing is read, drawn or charged.
        """
        bound = self._sums.bound(theta, anchor)
        if not bound:
            return np.zeros(self._sums.model.shape)
        return self._session(
            self._event,
            lambda batch: self._sums.difference(theta, anchor, bound, batch.rows),
            Sensitivity(REPLACE_ONE * bound, self._normals, terms=self._terms, size=theta.size),
            divisor=self._divisor, batches=self._batches)

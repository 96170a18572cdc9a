r"""Noisy gradients at an anchor, and noisy differences of gradients from it.

A row's difference has norm at most ``c = min(2 C, beta ||theta - anchor||)``: both gradients
are clipped at C, and a clipped gradient is as smooth as the loss, as radial clipping brings no
two points further apart. For losses whose derivatives keep their sign C takes the place of 2 C.
Both points are public, hence so is c, and noise in proportion to it costs the same whatever it
is. The bound is enforced, so that no loss has to be trusted.
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
        Over all rows.
    changes : NoisySums
    clip_norm : float
        C, of the gradient of a row.
    """

    anchors: NoisySums
    changes: NoisySums
    clip_norm: float

    def event(self, noise_multiplier: float) -> Event:
        """Return what all answers cost."""
        return Composed((self.anchors(noise_multiplier), self.changes(noise_multiplier)))

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> DifferenceOracle:
        """Return the oracle over rows."""
        return DifferenceOracle(row_sums(DifferenceSums, data, self.clip_norm), self,
                                noise_multiplier, session)


class DifferenceOracle(Oracle):
    """Answer with noisy mean gradients at anchors and noisy mean differences from them.

    An anchor is answered with ``(1/n) [ sum of clipped gradients + N(0, (r z C)^2 I) ]``, r being
    the declared ratio, and a difference with ``(1/(q n)) [ sum over a batch of clipped differences
    + N(0, (z c)^2 I) ]``. Clipping, summing, noising and charging are one operation, and c is
    worked out here from the public points.
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

        The points are public, the anchor that of the last `gradient`: a ValueError else. Where
        both are the same nothing is asked, drawn or charged.
        """
        bound = self._sums.bound(theta, anchor)
        if not bound:
            return np.zeros(self._sums.model.shape)
        return self._session(
            self._event,
            lambda batch: self._sums.difference(theta, anchor, bound, batch.rows),
            Sensitivity(REPLACE_ONE * bound, self._normals, terms=self._terms, size=theta.size),
            divisor=self._divisor, batches=self._batches)

"""Noisy dual gradients, primal gradients and differences of primal gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import Composed
from dpsk._privacy.plans import NoisySums
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import SaddleAnswers, SaddleQueries

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["SaddleDifferenceOracle", "SaddleDifferences"]

#: The clip norm of differences is at least this fraction of the clip norm of gradients.
_LEAST_SHARE = 2.0**-20
#: More than the rounding of a distance between two points.
_MARGIN = 1.0 + 2.0**-40


@dataclass(frozen=True)
class SaddleDifferences(SaddleQueries):
    """Noisy sums of three kinds on separate batches: dual, primal, and primal differences.

    Parameters
    ----------
    dual, base, difference : NoisySums
    primal_clip, dual_clip : float
        Clip norms of a row's primal and dual gradient.
    slopes : tuple of float
        C2 and C3, which bound a difference by the distance between its two points.
    """

    dual: NoisySums
    base: NoisySums
    difference: NoisySums
    primal_clip: float
    dual_clip: float
    slopes: tuple[float, float]

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all answers."""
        return Composed(tuple(kind(noise_multiplier) for kind in self._kinds() if kind.count))

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> SaddleDifferenceOracle:
        """Return the oracle over rows."""
        return SaddleDifferenceOracle(self.sums(data), self, noise_multiplier, session)

    def _kinds(self) -> tuple[NoisySums, ...]:
        return self.dual, self.base, self.difference


class SaddleDifferenceOracle(SaddleAnswers):
    """Answer with noisy sums of three kinds, each charged on its own.

    A difference compares clipped gradients at two public points on one batch. It is clipped again
    to ``min(B + B', C2 ||x - x'|| + C3 ||y - y'||)``, with the `slopes` C2 and C3 and the bounds
    B and B' on a row's weighted gradient at both points. Its noise is proportional to this bound.
    """

    def __init__(self, sums: Any, asked: SaddleDifferences, noise_multiplier: float,
                 session: Session) -> None:
        self._sums, self._slopes, self._session = sums, asked.slopes, session
        self._open = {}
        for name in ("dual", "base", "difference"):
            kind, n_samples = getattr(asked, name), sums.n_samples
            self._open[name] = (
                kind.release(noise_multiplier),
                sums.model.rounding_terms(kind.batches.largest_size(n_samples)), {
                    "divisor": kind.batches.expected_size(n_samples),
                    "batches": session.batches(kind.batches, n_samples, kind.count)})

    def dual_gradient(self, primal: FloatArray, dual: FloatArray) -> FloatArray:
        """Return a noisy mean dual gradient at public points, in the shape of `dual`."""
        found = self._answer("dual", self._sums.dual_clip,
                             lambda rows: self._sums.dual_gradient(primal, dual, rows))
        return found * self.dual_set.unit

    def gradient(self, primal: FloatArray, dual: FloatArray) -> FloatArray:
        """Return a noisy mean primal gradient at public points, in the shape of `primal`."""
        return self._answer("base", self._sums.primal_bound(dual),
                            lambda rows: self._sums.gradients(primal, dual, rows)[0])

    def difference(self, new: tuple[FloatArray, FloatArray],
                   old: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return the noisy mean of primal gradients at `new` minus those at `old`, float64.

        Both are public (primal, dual) points. If they are equal, return zero and release nothing.
        """
        moved = [np.linalg.norm(a - b) for a, b in zip(new, old, strict=True)]
        if not any(moved):
            return np.zeros(self._sums.primal_size)
        clip, most = self._sums.primal_clip, sum(
            self._sums.primal_bound(point[1]) for point in (new, old))
        bound = _MARGIN * (self._slopes[0] * moved[0] + self._slopes[1] * moved[1])
        bound = max(min(most, bound), _LEAST_SHARE * clip)
        return self._answer("difference", bound,
                            lambda rows: self._sums.differences(new, old, bound, rows))

    def _answer(self, name: str, clip: float, summed: Callable[..., Any]) -> FloatArray:
        event, terms, settings = self._open[name]
        sums = self._sums
        size = sums.loss.dual_set.size if name == "dual" else sums.primal_size
        return self._session(event, lambda batch: summed(batch.rows),
                             Sensitivity(REPLACE_ONE * clip, terms=terms, size=size), **settings)

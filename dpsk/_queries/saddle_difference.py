"""Noisy dual gradients, primal gradients and differences of primal gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import SaddleAnswers

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    from dpsk._mechanism.session import Session
    from dpsk._queries.context import Context
    from dpsk._typing import FloatArray

__all__ = ["SaddleDifferenceOracle"]

#: Clips of differences are at least this share of the gradients' own clip.
_LEAST_SHARE = 2.0**-20
#: More than the rounding of a distance between two points.
_MARGIN = 1.0 + 2.0**-40


class SaddleDifferenceOracle(SaddleAnswers):
    """Answer with noisy sums of three kinds, each charged on its own.

    The `declared` NoisyKinds are those of dual sums, primal sums and primal differences. A
    difference is taken between two public points on one batch, between gradients that are clipped
    already, and clipped again at a bound that follows from the public distance of the points:
    ``min(2 C, C2 ||x - x'|| + C3 ||y - y'||)`` with the `slopes` C2 and C3. Its noise is
    proportional to that.
    """

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the rows of a `Context`; clips are (primal, dual, C2, C3)."""
        return cls(cls.opened_sums(context), context.declared, context.clip[2:],
                   context.noise_multiplier, context.session)

    def __init__(self, sums: Any, declared: Any, slopes: tuple[float, float],
                 noise_multiplier: float, session: Session) -> None:
        self._sums, self._slopes, self._session = sums, slopes, session
        self._open = {}
        for name, kind in zip(("dual", "base", "difference"), declared.kinds, strict=True):
            n_samples = sums.n_samples
            self._open[name] = (
                kind.batches.release(kind.ratio * noise_multiplier),
                sums.model.rounding_terms(kind.batches.largest_size(n_samples)), {
                    "divisor": kind.batches.expected_size(n_samples),
                    "batches": session.batches(kind.batches, n_samples, kind.count)})

    def dual_gradient(self, primal: FloatArray, dual: FloatArray) -> FloatArray:
        """Return a noisy mean dual gradient at public points, like `dual`."""
        return self._answer("dual", self._sums.dual_clip,
                            lambda rows: self._sums.dual_gradient(primal, dual, rows))

    def gradient(self, primal: FloatArray, dual: FloatArray) -> FloatArray:
        """Return a noisy mean primal gradient at public points, like `primal`."""
        return self._answer("base", self._sums.primal_clip,
                            lambda rows: self._sums.gradients(primal, dual, rows)[0])

    def difference(self, new: tuple[FloatArray, FloatArray],
                   old: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return a noisy mean of the primal gradients at `new` less those at `old`, float64.

        Both are public (primal, dual) points. Where they are the same it is zero, and nothing is
        released.
        """
        moved = [np.linalg.norm(a - b) for a, b in zip(new, old, strict=True)]
        if not any(moved):
            return np.zeros(self._sums.primal_size)
        clip = self._sums.primal_clip
        bound = _MARGIN * (self._slopes[0] * moved[0] + self._slopes[1] * moved[1])
        bound = max(min(REPLACE_ONE * clip, bound), _LEAST_SHARE * clip)
        return self._answer("difference", bound,
                            lambda rows: self._sums.differences(new, old, bound, rows))

    def _answer(self, name: str, clip: float, summed: Callable[..., Any]) -> FloatArray:
        event, terms, settings = self._open[name]
        sums = self._sums
        size = sums.loss.dual_set.size if name == "dual" else sums.primal_size
        return self._session(event, lambda batch: summed(batch.rows),
                              Sensitivity(REPLACE_ONE * clip, terms=terms, size=size), **settings)

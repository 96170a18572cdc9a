r"""Gradients checked against a hold-out: thresholded answers, noisy on either side.

The rows are split by a secret permutation into disjoint batches, each into a training half and a
hold-out half of m rows. With A and H the sums of clipped gradients over the halves and a scale
``s = z C``, every coordinate of an answer is

    (A + noise s) / m   if |A - H| + noise 4 s > 3 s,   else   (H + noise s) / m .

One row is in one half of one batch. Replacing it moves A or H, not both, by at most 2 C in the
norm of the clip, and |A - H| by no more. So it pays for the comparison, ``2 C / (4 s) = 1/(2 z)``,
and then, whatever the comparison said, for the answer, ``2 C / s = 2/z``: mu of Gaussian noise
with an l2 clip, epsilon of Laplace noise with an l1 clip. The answers of other batches do not
read it.

Public hold-out rows need no half of the rows and no noise on H.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.noise.grids import grid_bits
from dpsk._privacy.plans import COMPARISON
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle
from dpsk._sums.linear_sums import float_sums, grid_sums
from dpsk._sums.parted_sums import sums_over

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._mechanism.session import Batch, Session
    from dpsk._queries.context import Context
    from dpsk._typing import FloatArray

__all__ = ["ThresholdOracle"]

#: The threshold over the noise of answers.
_THRESHOLD = 3.0


class ThresholdOracle(Oracle):
    """Answer each batch's questions in turn, `rounds` times, then go on to the next batch.

    A comparison and an answer are two releases, each charged to the batch whose rows they read;
    the hold-out's exact answer never leaves. Sums and noise lie on a grid where the noise allows
    it. `batches` holds the sums of training and hold-out part of every batch, all disjoint; z is
    the noise multiplier of an answer.
    """

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the rows of a `Context`, split by a secret permutation."""
        problem, declared, rows = context.problem, context.declared, context.rows
        halves = 1 if declared.public_holdout else 2
        size = len(rows) // (halves * declared.batches)
        order = context.session.permutation(len(rows))
        # Parts of equal size, so that sums compare as means do; a few rows may stay unused.
        pieces = [order[start * size:(start + 1) * size]
                  for start in range(halves * declared.batches)]
        # Laplace tails are long: the room of ten times the noise is not enough.
        spread = COMPARISON * context.noise_multiplier * context.clip
        bits = grid_bits(2 * size, context.clip, spread * (10.0 if declared.pure else 1.0))
        norm_order = 1 if declared.pure else 2

        def sums(part: Any) -> Any:
            args = problem.model, problem.loss, part, context.clip
            if bits is None:
                return sums_over(float_sums, *args, norm_order)
            return sums_over(grid_sums, *args, bits, norm_order)

        parts = [sums(rows.subset(np.sort(piece))) for piece in pieces]
        if declared.public_holdout:
            given: Any = rows.holdout
            public = PublicSums(float_sums(problem.model, problem.loss, given, context.clip,
                                           norm_order), size, parts[0].resolution)
            batches = [(part, public) for part in parts]
        else:
            batches = list(zip(parts[::2], parts[1::2], strict=True))
        return cls(batches, declared, context.noise_multiplier, context.session)

    def __init__(self, batches: list[tuple[Any, Any]], declared: Any, noise_multiplier: float,
                 session: Session) -> None:
        self._batches, self._declared, self._session = batches, declared, session
        self._groups = session.groups(len(batches))
        self._events = declared.releases(noise_multiplier)
        sums = batches[0][0]
        self._threshold = _THRESHOLD * noise_multiplier * sums.clip_norm
        law = "laplace" if declared.pure else "standard_normal"
        # A gap moves as one of its two sums does, which have no row in common.
        self._moved = Sensitivity(REPLACE_ONE * sums.clip_norm, law, sums.resolution,
                                  sums.n_samples, sums.model.dimension)
        self._answered = 0

    @property
    def arithmetic(self) -> str:
        """str : "grid" where sums and noise are exact multiples of a unit, else "float"."""
        return self._batches[0][0].arithmetic

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the checked noisy mean gradient, float64, of the batch whose turn it is."""
        turn = min(self._answered // self._declared.rounds, len(self._batches) - 1)
        training, holdout = self._batches[turn]
        to_compare, to_answer = self._events
        ledger = self._groups[turn]
        sums: list[FloatArray] = []

        def compare(batch: Batch) -> FloatArray:
            sums.extend((training.gradient(theta), holdout.gradient(theta)))
            return np.abs(sums[0] - sums[1])

        gap = self._session(to_compare, compare, self._moved, ledger=ledger)
        self._answered += 1
        fires = gap > self._threshold
        public = self._declared.public_holdout
        noisy = self._session(
            to_answer, lambda batch: np.where(fires, sums[0], 0.0 if public else sums[1]),
            self._moved, ledger=ledger)
        # What public rows say needs no noise.
        answer = np.where(fires, noisy, sums[1]) if public else noisy
        return answer / training.n_samples


class PublicSums:
    """Sums over public rows, as if there were `size` of them, on the grid of the others."""

    def __init__(self, sums: Any, size: int, resolution: float | None) -> None:
        self._sums, self._factor, self._unit = sums, size / sums.n_samples, resolution

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the sum of clipped gradients at `theta` over the public rows, rescaled."""
        total = self._factor * self._sums.gradient(theta)
        return total if self._unit is None else np.rint(total / self._unit) * self._unit

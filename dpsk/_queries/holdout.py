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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import Composed, Gaussian, Pure, Repeated, tally
from dpsk._privacy.noise.grids import grid_bits
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle, Queries
from dpsk._sums.linear_sums import float_sums, grid_sums
from dpsk._sums.parted_sums import sums_over

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["CheckedGradients", "ThresholdOracle"]

#: The noise of a comparison with a hold-out over that of an answer.
COMPARISON = 4.0
#: The threshold over the noise of answers.
_THRESHOLD = 3.0


@dataclass(frozen=True)
class CheckedGradients(Queries):
    """Gradients on disjoint batches, each checked against a hold-out.

    Parameters
    ----------
    clip_norm : float
        C, of the gradient of a row.
    rounds : int
        Answers asked of each batch.
    batches : int
        Number of disjoint batches. A row is in one, so they are not multiplied.
    pure : bool
        Laplace noise and an l1 clip, else Gaussian noise and an l2 clip.
    public_holdout : bool
    """

    clip_norm: float
    rounds: int
    batches: int = 1
    pure: bool = False
    public_holdout: bool = False

    def event(self, noise_multiplier: float) -> Event:
        """Return what one row pays: `rounds` of comparison and answer."""
        return Composed(tuple(Repeated(event, self.rounds)
                              for event in self.releases(noise_multiplier)))

    def releases(self, noise_multiplier: float) -> tuple[Elementary, Elementary]:
        """Return the events of one comparison and of one answer."""
        kind = Pure if self.pure else Gaussian
        answer = REPLACE_ONE / noise_multiplier
        return kind(answer / COMPARISON), kind(answer)

    def n_answers_elsewhere(self, noise_multiplier: float) -> int:
        """Return how many answers the other batches are asked for."""
        return (self.batches - 1) * sum(tally(self.event(noise_multiplier)).values())

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> ThresholdOracle:
        """Return the oracle over rows, split by a secret permutation."""
        problem, rows = data
        halves = 1 if self.public_holdout else 2
        size = len(rows) // (halves * self.batches)
        order = session.permutation(len(rows))
        # Parts of equal size, so that sums compare as means do; a few rows may stay unused.
        pieces = [order[start * size:(start + 1) * size]
                  for start in range(halves * self.batches)]
        # Laplace tails are long: the room of ten times the noise is not enough.
        spread = COMPARISON * noise_multiplier * self.clip_norm
        bits = grid_bits(2 * size, self.clip_norm, spread * (10.0 if self.pure else 1.0))
        norm_order = 1 if self.pure else 2

        def sums(part: Any) -> Any:
            args = problem.model, problem.loss, part, self.clip_norm
            if bits is None:
                return sums_over(float_sums, *args, norm_order)
            return sums_over(grid_sums, *args, bits, norm_order)

        parts = [sums(rows.subset(np.sort(piece))) for piece in pieces]
        if self.public_holdout:
            given: Any = rows.holdout
            public = PublicSums(float_sums(problem.model, problem.loss, given, self.clip_norm,
                                           norm_order), size, parts[0].resolution)
            batches = [(part, public) for part in parts]
        else:
            batches = list(zip(parts[::2], parts[1::2], strict=True))
        return ThresholdOracle(batches, self, noise_multiplier, session)


class ThresholdOracle(Oracle):
    """Answer each batch's questions in turn, `rounds` times, then go on to the next batch.

    A comparison and an answer are two releases, each charged to the batch whose rows they read;
    the hold-out's exact answer never leaves. Sums and noise lie on a grid where the noise allows
    it. `batches` holds the sums of training and hold-out part of every batch, all disjoint; z is
    the noise multiplier of an answer.
    """

    def __init__(self, batches: list[tuple[Any, Any]], asked: CheckedGradients,
                 noise_multiplier: float, session: Session) -> None:
        self._batches, self._asked, self._session = batches, asked, session
        self._groups = session.groups(len(batches))
        self._events = asked.releases(noise_multiplier)
        sums = batches[0][0]
        self._threshold = _THRESHOLD * noise_multiplier * sums.clip_norm
        law = "laplace" if asked.pure else "standard_normal"
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
        turn = min(self._answered // self._asked.rounds, len(self._batches) - 1)
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
        public = self._asked.public_holdout
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

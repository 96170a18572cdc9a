r"""Gradients checked against a hold-out by a noisy threshold test.

A secret permutation splits the rows into disjoint batches, and every batch into a training half
and a hold-out half of m rows. Let A and H be the sums of clipped gradients over the halves, and
``s = z C``. Then every coordinate of an answer is

    (A + noise s) / m   if |A - H| + noise 4 s > 3 s,   else   (H + noise s) / m .

One row is in one half of one batch. Replacing it moves either A or H by at most 2 C in the clip's
norm, and |A - H| by no more. The comparison therefore costs ``2 C / (4 s) = 1/(2 z)``. The answer
costs ``2 C / s = 2/z``, for either outcome of the comparison. These are mu for Gaussian noise
with an l2 clip, and epsilon for Laplace noise with an l1 clip. The answers of other batches do
not read the row.

With public hold-out rows, all rows are training rows and H needs no noise.
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

#: The ratio of the noise of a comparison to the noise of an answer.
COMPARISON = 4.0
#: The ratio of the threshold to the noise of an answer.
_THRESHOLD = 3.0


@dataclass(frozen=True)
class CheckedGradients(Queries):
    """Gradients on disjoint batches, each checked against a hold-out.

    Parameters
    ----------
    clip_norm : float
        C, the clip norm of a row's gradient.
    rounds : int
        Number of answers from each batch.
    batches : int
        Number of disjoint batches. A row is in one batch, so the cost does not grow with it.
    pure : bool
        Whether to use Laplace noise and an l1 clip, rather than Gaussian noise and an l2 clip.
    public_holdout : bool
    """

    clip_norm: float
    rounds: int
    batches: int = 1
    pure: bool = False
    public_holdout: bool = False

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost to one row: `rounds` comparisons and answers."""
        return Composed(tuple(Repeated(event, self.rounds)
                              for event in self.releases(noise_multiplier)))

    def releases(self, noise_multiplier: float) -> tuple[Elementary, Elementary]:
        """Return the events of one comparison and of one answer."""
        kind = Pure if self.pure else Gaussian
        answer = REPLACE_ONE / noise_multiplier
        return kind(answer / COMPARISON), kind(answer)

    def n_answers_elsewhere(self, noise_multiplier: float) -> int:
        """Return the number of comparisons and answers from the other batches."""
        return (self.batches - 1) * sum(tally(self.event(noise_multiplier)).values())

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> ThresholdOracle:
        """Return the oracle over rows, split by a secret permutation."""
        problem, rows = data
        halves = 1 if self.public_holdout else 2
        size = len(rows) // (halves * self.batches)
        order = session.permutation(len(rows))
        # Parts have equal sizes, so that sums compare like means; a few rows may stay unused.
        pieces = [order[start * size:(start + 1) * size]
                  for start in range(halves * self.batches)]
        # Laplace noise has longer tails, so it gets ten times the range on the grid.
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
    """Answer `rounds` times from every batch in turn.

    A comparison and an answer are two mechanism outputs, each charged to the batch whose rows
    they read. The exact hold-out gradient of private rows is never released. Sums and noise lie
    on a grid if the noise allows it. `batches` holds the sums of the training and hold-out part
    of every batch, all disjoint. z is the noise multiplier of an answer.
    """

    def __init__(self, batches: list[tuple[Any, Any]], asked: CheckedGradients,
                 noise_multiplier: float, session: Session) -> None:
        self._batches, self._asked, self._session = batches, asked, session
        self._groups = session.groups(len(batches))
        self._events = asked.releases(noise_multiplier)
        sums = batches[0][0]
        self._threshold = _THRESHOLD * noise_multiplier * sums.clip_norm
        law = "laplace" if asked.pure else "standard_normal"
        # The two sums share no row, so their difference moves as much as one of them.
        self._moved = Sensitivity(REPLACE_ONE * sums.clip_norm, law, sums.resolution,
                                  sums.n_samples, sums.model.dimension)
        self._answered = 0

    @property
    def arithmetic(self) -> str:
        """str : "grid" if sums and noise are exact multiples of a grid spacing, else "float"."""
        return self._batches[0][0].arithmetic

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the checked noisy mean gradient over the current batch, float64."""
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
        # Gradients on public rows need no noise.
        answer = np.where(fires, noisy, sums[1]) if public else noisy
        return answer / training.n_samples


class PublicSums:
    """Sums over public rows, rescaled to `size` rows and rounded to the private sums' grid."""

    def __init__(self, sums: Any, size: int, resolution: float | None) -> None:
        self._sums, self._factor, self._unit = sums, size / sums.n_samples, resolution

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the sum of clipped gradients at `theta` over the public rows, rescaled."""
        total = self._factor * self._sums.gradient(theta)
        return total if self._unit is None else np.rint(total / self._unit) * self._unit

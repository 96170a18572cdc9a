r"""The release: the one place through which anything about the rows leaves.

Charge, read, round, noise, divide are one operation. With a part of an answer that one row moves
inside a ball of radius `bound`, noise of scale ``multiplier * bound`` is what the event is priced
for. Sums that are exact lie on a grid of public unit and so does their noise: rounded noise is
the rounding of the noisy sum. Other sums are off by rounding themselves, and are brought to a
unit that is 2^-30 of the noise before it is added: the bound grows by what both can move, and no
finer bits are left that the noise would not hide.

Answers leave as they are under the event `NotPrivate` alone, which no finite budget holds.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpsk._privacy.events import BestOf, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers, streams
from dpsk._privacy.noise.grids import float_unit
from dpsk._privacy.selection import failure_rate
from dpsk._progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._privacy.batches import BatchPlan
    from dpsk._privacy.elementary import Elementary
    from dpsk._privacy.events import Event
    from dpsk._privacy.ledger import GroupLedger
    from dpsk._privacy.noise.streams import Stream
    from dpsk._typing import Chosen, FloatArray, IntArray, Shape

__all__ = ["Part", "Releases", "rounding_margin"]

_NOISE_BLOCK = 1 << 15


def rounding_margin(n_rows: float) -> float:
    """Return what the sensitivity of a sum of `n_rows` terms, added in any order, grows by.

    Each of two neighboring sums may be off by ``n u / (1 - n u)`` times the sum of the terms'
    norms (Higham 2002, Theorem 3.1 with the product by a term's factor), so to all orders.
    """
    rounding = n_rows * 2.0**-53
    if not rounding < 0.5:
        raise ValueError(f"n_rows={n_rows:.6g}: must be below 2**52, as sums of so many terms may "
                         "be rounded to anything.")
    return 1.0 + n_rows**2 * 2.0**-53 / (1.0 - rounding)


@dataclass(frozen=True)
class Part:
    """How one array of an answer is noised.

    Parameters
    ----------
    multiplier : float
        Scale of the noise over `bound`.
    bound : float
        Radius of the ball in which one row moves the array: a clip norm, or a sensitivity.
    law : str or callable, (stream, shape) -> ndarray of float64
        Draws noise of scale 1; a name of `samplers`.
    unit : float or None
        Power of two of which the array is an exact multiple; None where it is not exact.
    terms : int
        Number of rows in a sum that is not exact; 0 where rounding is in the bound.
    size : int
        Number of coordinates of the array; asked for where it is not exact.
    rounded : bool
        False where only a choice leaves, which shows no low bits and whose law is that of
        continuous noise.
    """

    multiplier: float
    bound: float
    law: str | Callable[[Stream, Any], FloatArray] = "standard_normal"
    unit: float | None = None
    terms: int = 0
    size: int = 0
    rounded: bool = True

    @cached_property
    def scales(self) -> tuple[float, float]:
        """(float, float) : the unit of an answer, and the scale of its noise in units."""
        if not self.multiplier > 0:
            raise RuntimeError("An answer that is priced has noise; none is for NotPrivate.")
        if self.unit is not None:
            return self.unit, self.multiplier * self.bound / self.unit
        bound = self.bound * rounding_margin(self.terms)
        unit = float_unit(self.multiplier * bound)
        # Rounding moves each of two neighboring arrays by half a unit a coordinate.
        moved = self.size if self.law == "laplace" else math.sqrt(self.size)
        return unit, self.multiplier * (bound + unit * moved) / unit

    def noise(self, stream: Stream, shape: Any) -> FloatArray:
        """Return fresh noise in units, in whole ones where all of the answer leaves."""
        law = self.law if callable(self.law) else getattr(samplers, self.law)
        noise = law(stream, shape)
        noise *= self.scales[1]
        return np.rint(noise, out=noise) if self.rounded else noise

    def noised(self, total: FloatArray, noise: FloatArray, divisor: float) -> FloatArray:
        """Return the noisy total over the divisor, in place of `total`.

        Parameters
        ----------
        total : ndarray of float64
        noise : ndarray of float64
            In units.
        divisor : float
        """
        unit = self.scales[0]
        if self.unit is None and total.size != self.size:
            raise ValueError("size: the part is declared for another number of coordinates.")
        total *= 1.0 / unit
        if self.rounded:
            np.rint(total, out=total)
        total += noise
        # The unit is a power of two: this rounds once.
        total /= divisor / unit
        return total


class Inside:
    """What reading may use before its result is noised; it never leaves the release.

    `rows` are the rows of this answer, indices drawn in secret; None for all.
    """

    __slots__ = ("_stream", "rows")

    def __init__(self, stream: Stream, rows: Chosen) -> None:
        self._stream, self.rows = stream, rows

    def normal(self, shape: Shape) -> FloatArray:
        """Return independent standard normals."""
        return samplers.standard_normal(self._stream, shape)

    def gamma_norm(self, shape: Shape) -> FloatArray:
        """Return a vector of density proportional to ``exp(-||z||)``."""
        return samplers.gamma_norm(self._stream, shape)


class Releases:
    """The ledger and the secret stream of one fit, and the only way to use either.

    `progress` counts answers once they have been charged; `admission` says what has paid for all
    of them.
    """

    def __init__(self, stream: Stream, ledger: Ledger, progress: Progress | None = None,
                 admission: Any = None) -> None:
        self._stream, self._ledger, self.admission = stream, ledger, admission
        self._progress = Progress() if progress is None else progress

    def __call__(self, event: Elementary | tuple[Elementary, ...], read: Callable[[Inside], Any],
                 *parts: Part, divisor: float = 1.0, batches: Iterator[Any] | None = None,
                 ledger: Ledger | GroupLedger | None = None,
                 only: Callable[[FloatArray], Any] | None = None, aside: bool = False) -> Any:
        """Charge, read, noise, round and divide.

        Parameters
        ----------
        event : Event or tuple of Event
            What the answer costs, charged before anything is drawn or read.
        read : callable, Inside -> ndarray, or tuple of ndarray of float64
            Clips and sums; one array a part, which is overwritten.
        parts : Part
            One an array of what is read.
        divisor : float
            Public.
        batches : iterator or None
            Yields the rows of every answer.
        ledger : Ledger or None
            That of the rows that are read, where they are one of several disjoint groups.
        only : callable or None
            What leaves of a noisy array, where not all of it may.
        aside : bool
            Whether the noise is drawn while rows are read.

        Returns
        -------
        answer : ndarray, tuple of ndarray, or what `only` makes of one

        Raises
        ------
        RuntimeError
            If the plan does not hold the event; nothing is drawn then.
        """
        ledger = self._ledger if ledger is None else ledger
        events = event if isinstance(event, tuple) else (event,)
        for one in events:
            ledger.charge(one)
        self._progress()
        inside = Inside(self._stream, None if batches is None else next(batches))
        if not all(one.protects for one in events):
            return _as_it_is(read(inside), divisor, only)
        if aside:
            with ThreadPoolExecutor(1) as thread:
                noise = thread.submit(parts[0].noise, self._stream, None)
                return parts[0].noised(read(inside), noise.result(), divisor)
        totals = read(inside)
        if isinstance(totals, tuple):
            return tuple(part.noised(total, part.noise(self._stream, total.shape), divisor)
                         for part, total in zip(parts, totals, strict=True))
        (part,) = parts
        noisy = part.noised(totals, part.noise(self._stream, totals.shape), divisor)
        return noisy if only is None else only(noisy)

    def hidden(self, event: Elementary, run: Callable[[Inside], FloatArray],
               unit: float) -> FloatArray:
        """Charge, run steps that draw their own noise, and round their end to a public unit."""
        self._ledger.charge(event)
        self._progress()
        end = run(Inside(self._stream, None))
        return np.rint(end / unit) * unit

    def groups(self, count: int) -> list[GroupLedger]:
        """Return a ledger for each of `count` disjoint groups of rows."""
        self._progress.repeat(count)
        return self._ledger.groups(count)

    def runs(self, event: Event, asked: Event) -> Iterator[Releases]:
        """Charge the best of a secret number of runs; yield what each of them asks, in turn.

        The number is drawn first, from a geometric law, and nothing but the best may leave; any
        other event is that of one run. `asked` is what a run may ask of the rows that it was not
        trained on, which costs at most a run: a row is among these or is trained on.
        """
        for one, times in tally(event).items():
            self._ledger.charge(one, times)
        count = 1
        if isinstance(event, BestOf):
            if event.shape != 1:
                raise RuntimeError("The number of runs is drawn from a geometric law only.")
            count = streams.geometric(self._stream, failure_rate(event.mean_runs, 1.0))
        for _ in range(count):
            yield Releases(self._stream, Ledger(asked))

    def index(self, stop: int) -> int:
        """Return a secret integer, uniform on ``0 .. stop - 1``."""
        return streams.random_index(self._stream, stop)

    def batches(self, plan: BatchPlan, n_samples: int, count: int) -> Iterator[IntArray | None]:
        """Yield the secret rows of `count` answers; None for all rows."""
        return plan.batches(self._stream, n_samples, count)

    def permutation(self, count: int) -> IntArray:
        """Return a secret permutation."""
        return streams.random_permutation(self._stream, count)

    def normals(self, shape: Shape, count: int) -> Callable[[Stream, Shape], FloatArray]:
        """Return a law that yields `count` arrays, drawn in blocks to save calls."""
        blocks = _normal_blocks(self._stream, shape, count)
        return lambda stream, shape: next(blocks)


def _as_it_is(totals: Any, divisor: float, only: Callable[[FloatArray], Any] | None) -> Any:
    """Return an answer without noise."""
    if isinstance(totals, tuple):
        return tuple(total / divisor for total in totals)
    exact = totals / divisor
    return exact if only is None else only(exact)


def _normal_blocks(stream: Stream, shape: Shape, count: int) -> Iterator[FloatArray]:
    """Yield `count` fresh standard normal arrays, drawn in blocks to save calls."""
    per_block = max(1, min(count, _NOISE_BLOCK // max(1, int(np.prod(shape)))))
    for start in range(0, count, per_block):
        yield from samplers.standard_normal(stream, (min(per_block, count - start), *shape))

r"""The release: the only place through which information about the rows leaves.

Charging, reading, rounding, adding noise and dividing are one operation. The caller states the
privacy cost of an answer and its sensitivity; the noise follows from these (`sensitivity`).

Answers without noise need the event `NotPrivate`, which no finite budget allows.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from dpsk._context import may_start_threads, refuse_fork_of
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.events import SampledGaussian, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers, streams
from dpsk._privacy.selection import failure_rate
from dpsk._progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._mechanism.sensitivity import Sensitivity
    from dpsk._privacy.batches import BatchPlan
    from dpsk._privacy.certificate import Enforced
    from dpsk._privacy.elementary import Elementary
    from dpsk._privacy.events import Event
    from dpsk._privacy.ledger import GroupLedger
    from dpsk._privacy.noise.streams import Stream
    from dpsk._typing import Chosen, FloatArray, IntArray, Shape

__all__ = ["Batch", "Session"]

_NOISE_BLOCK = 1 << 15


class Batch:
    """Rows and secret draws of an answer before noise is added; never leaves the release.

    `rows` are secretly drawn indices of the rows of this answer; None for all rows.
    """

    __slots__ = ("_rows", "_stream", "took_rows")

    def __init__(self, stream: Stream, rows: Chosen) -> None:
        self._stream, self._rows, self.took_rows = stream, rows, False

    @property
    def rows(self) -> Chosen:
        """ndarray of int, or None : the rows of this answer."""
        self.took_rows = True
        return self._rows

    def normal(self, shape: Shape) -> FloatArray:
        """Return independent standard normals."""
        return samplers.standard_normal(self._stream, shape)

    def gamma_norm(self, shape: Shape) -> FloatArray:
        """Return a vector of density proportional to ``exp(-||z||)``."""
        return samplers.gamma_norm(self._stream, shape)


class Session:
    """The only access to the ledger and the secret stream of one fit.

    `progress` counts charged answers; `admission` holds the budgets that were charged for the fit.

    Attributes
    ----------
    enforced : list of Enforced
        Released bounds, for the certificate; the code that releases a bound adds it.
    """

    def __init__(self, stream: Stream, ledger: Ledger, progress: Progress | None = None,
                 admission: Any = None) -> None:
        self._stream, self._ledger, self.admission = stream, ledger, admission
        self._progress = Progress() if progress is None else progress
        self.enforced: list[Enforced] = []
        self._process = os.getpid() if admission is None else admission.process

    def __call__(self, event: Elementary, read: Callable[[Batch], Any],
                 *sensitivities: Sensitivity, divisor: float = 1.0,
                 batches: Iterator[Any] | None = None, also: tuple[Elementary, ...] = (),
                 ledger: Ledger | GroupLedger | None = None,
                 select: Callable[[FloatArray], Any] | None = None, overlap: bool = False) -> Any:
        """Charge, read, round, add noise and divide.

        Parameters
        ----------
        event : Event
            Privacy cost of the answer, charged before anything is drawn or read.
        read : callable, Batch -> ndarray, or tuple of ndarray of float64
            Clips and sums; returns one array for each sensitivity, which is overwritten.
        sensitivities : Sensitivity
            One for each array that is read; together they cost at most the event.
        divisor : float
            Public divisor of the noisy answer.
        batches : iterator or None
            Yields the rows of every answer.
        also : tuple of Event
            Additional costs: of noise that is drawn while rows are read, or of a probability of
            revealing a row.
        ledger : Ledger or None
            Ledger of the rows that are read, if they are one of several disjoint groups.
        select : callable or None
            Selects what is released of a noisy array, if not all of it may be.
        overlap : bool
            Whether noise is drawn in a thread while rows are read.

        Returns
        -------
        answer : ndarray, tuple of ndarray, or what `select` makes of one

        Raises
        ------
        RuntimeError
            If the plan does not contain the event, or the event is not the cost of what would be
            released. Nothing is drawn then.
        """
        _check_leaving(event, sensitivities, batches, select)
        ledger = self._ledger if ledger is None else ledger
        for one in (event, *also):
            ledger.charge(one)
        self._progress()
        batch = Batch(self._stream, None if batches is None else next(batches))
        if not event.protects:
            return _as_it_is(read(batch), divisor, select)
        noises = tuple(one.noise(event) for one in sensitivities)
        answer: Any
        if overlap and may_start_threads():
            # Threads without a name of their own would count the answers of this process.
            with ThreadPoolExecutor(1, "dpsk") as thread:
                drawn = thread.submit(noises[0].draw, self._stream, None)
                totals = self._read(batch, read, event)
                answer = noises[0].added(totals, drawn.result(), divisor)
        else:
            totals = self._read(batch, read, event)
            several = totals if isinstance(totals, tuple) else (totals,)
            answer = tuple(noise.added(total, noise.draw(self._stream, total.shape), divisor)
                           for noise, total in zip(noises, several, strict=True))
            if not isinstance(totals, tuple):
                (noisy,) = answer
                answer = noisy if select is None else select(noisy)
        refuse_fork_of(self._process)
        return answer

    def hidden(self, event: Elementary, run: Callable[[Batch], FloatArray],
               unit: float) -> FloatArray:
        """Charge, run steps that draw their own noise, and round their result to a public unit."""
        self._ledger.charge(event)
        self._progress()
        end = run(Batch(self._stream, None))
        refuse_fork_of(self._process)
        return np.rint(end / unit) * unit

    def groups(self, count: int) -> list[GroupLedger]:
        """Return a ledger for each of `count` disjoint groups of rows."""
        return self._ledger.groups(count)

    def runs(self, event: Event, asked: Event) -> Iterator[Session]:
        """Charge the best of a secret number of runs, and yield a session for each run.

        The number of runs is drawn first, from a geometric distribution, and only the best run may
        be released. An event other than `BestOf` is that of one run. `asked` is what a run may
        release from its held-out rows. It costs at most as much as a run, as a row is either held
        out or trained on.
        """
        for one, times in tally(event).items():
            self._ledger.charge(one, times)
        count = 1
        if isinstance(event, BestOf):
            if event.shape != 1:
                raise RuntimeError("The number of runs is drawn from a geometric law only.")
            count = streams.geometric(self._stream, failure_rate(event.mean_runs, 1.0))
        for _ in range(count):
            yield Session(self._stream, Ledger(asked), admission=self.admission)

    def _read(self, batch: Batch, read: Callable[[Batch], Any], event: Elementary) -> Any:
        """Return what is read; a RuntimeError if all rows are read at the cost of a batch."""
        totals = read(batch)
        if isinstance(event, SampledGaussian) and not batch.took_rows:
            raise RuntimeError("SampledGaussian is the price of random batches; read inside.rows.")
        return totals

    def index(self, stop: int) -> int:
        """Return a secret integer, uniform on ``0 .. stop - 1``."""
        found = streams.random_index(self._stream, stop)
        refuse_fork_of(self._process)
        return found

    def batches(self, plan: BatchPlan, n_samples: int, count: int) -> Iterator[IntArray | None]:
        """Yield the secret row indices of `count` answers; None for all rows."""
        return plan.batches(self._stream, n_samples, count)

    def permutation(self, count: int) -> IntArray:
        """Return a secret permutation."""
        return streams.random_permutation(self._stream, count)

    def normals(self, shape: Shape, count: int) -> Callable[[Stream, Shape], FloatArray]:
        """Return a sampler of `count` arrays, which are drawn in blocks to save calls."""
        blocks = _normal_blocks(self._stream, shape, count)
        return lambda stream, shape: next(blocks)


def _check_leaving(event: Elementary, sensitivities: tuple[Sensitivity, ...], batches: Any,
                   select: Any) -> None:
    """Raise a RuntimeError if the event is not the cost of what would be released."""
    if isinstance(event, SampledGaussian) and batches is None:
        raise RuntimeError("SampledGaussian is the price of random batches; give batches.")
    if select is None:
        if any(one.law == "gumbel" or not one.rounded for one in sensitivities):
            raise RuntimeError("Only a choice among noisy scores may leave; give select.")
    elif len(sensitivities) != 1:
        raise RuntimeError("What leaves of one array is chosen by select; give one Sensitivity.")


def _as_it_is(totals: Any, divisor: float, select: Callable[[FloatArray], Any] | None) -> Any:
    """Return an answer without noise."""
    if isinstance(totals, tuple):
        return tuple(total / divisor for total in totals)
    exact = totals / divisor
    return exact if select is None else select(exact)


def _normal_blocks(stream: Stream, shape: Shape, count: int) -> Iterator[FloatArray]:
    """Yield `count` fresh standard normal arrays, drawn in blocks to save calls."""
    per_block = max(1, min(count, _NOISE_BLOCK // max(1, int(np.prod(shape)))))
    for start in range(0, count, per_block):
        yield from samplers.standard_normal(stream, (min(per_block, count - start), *shape))

"""Threads, processes and results that go on when the block ends that they were begun in."""

from __future__ import annotations

import concurrent.futures
import gc
import inspect
import multiprocessing
import multiprocessing.pool
import sys
import threading
from dataclasses import dataclass, field
from functools import cache
from types import GeneratorType
from typing import TYPE_CHECKING
from weakref import finalize, ref

import joblib

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Unfinished", "look_at_all", "pass_over_older", "under_way"]

#: Modules whose threads work off queues.
_POOLS = {"concurrent.futures.thread", "multiprocessing.pool", "distributed.threadpoolexecutor"}


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Work that is under way in a process.

    Attributes
    ----------
    threads : list of Thread
    children : list of Process
    work : list of weak references
        To lazy results of joblib, and to futures: what nobody holds is not done any more.
    """

    threads: list[threading.Thread] = field(default_factory=list)
    children: list[Any] = field(default_factory=list)
    work: list[Any] = field(default_factory=list)

    def since(self, before: Unfinished) -> Unfinished:
        """Return what of this was not under way before."""
        return Unfinished(*(
            [each for each in now if each not in then]
            for now, then in ((self.threads, before.threads), (self.children, before.children),
                              (self.work, before.work))))

    def still(self) -> Unfinished:
        """Return what of this is not done yet."""
        return Unfinished([each for each in self.threads if each.is_alive()],
                          [each for each in self.children if each.is_alive()],
                          [each for each in self.work if not _is_done(each())])

    def tell(self, told: Callable[[], None]) -> None:
        """Call `told` when some of the work is done, or dropped."""
        for each in self.work:
            work: Any = each()
            if hasattr(work, "add_done_callback"):
                work.add_done_callback(lambda done: told())
            elif work is not None:
                finalize(work, told).atexit = False

    def __bool__(self) -> bool:
        return bool(self.threads or self.children or self.work)


def pass_over_older() -> None:
    """Have `under_way` pass over all results and futures that there are now.

    A look at all objects of a large process would take long. Those that are frozen are freed as
    ever, but for cycles.
    """
    gc.freeze()


def look_at_all() -> None:
    """Undo `pass_over_older`."""
    gc.unfreeze()


def under_way() -> Unfinished:
    """Return what is under way in this process."""
    code = _lazy_code()
    kinds: set[type] = {GeneratorType}
    if threading.active_count() > 1:
        # Without another thread nobody does what a future stands for.
        kinds |= _with_subclasses(concurrent.futures.Future)
        kinds |= _with_subclasses(multiprocessing.pool.ApplyResult)
        if "distributed" in sys.modules:
            kinds |= _with_subclasses(sys.modules["distributed"].Future)
    found = [each for each in gc.get_objects() if type(each) in kinds]
    work = [each for each in found if not isinstance(each, GeneratorType) or each.gi_code in code]
    # joblib keeps its workers for whoever comes next; what they do has futures.
    children = [each for each in multiprocessing.active_children()
                if "loky" not in type(each).__module__]
    threads = [each for each in threading.enumerate()
               if each is not threading.current_thread() and not _is_pooled(each)]
    return Unfinished(threads, children, list(map(ref, work))).still()


@cache
def _lazy_code() -> tuple[Any, ...]:
    """Return the code of the generators by which joblib hands out results still to come."""
    return tuple(each.__code__ for each in vars(joblib.Parallel).values()
                 if inspect.isgeneratorfunction(each))


def _is_pooled(thread: threading.Thread) -> bool:
    """Return whether a thread waits for work of whoever comes next; what it does has futures."""
    return getattr(getattr(thread, "_target", None), "__module__", None) in _POOLS


def _with_subclasses(kind: Any) -> set[type]:
    return {kind}.union(*map(_with_subclasses, kind.__subclasses__()))


def _is_done(work: Any) -> bool:
    if work is None:
        return True
    if isinstance(work, GeneratorType):
        return work.gi_frame is None
    if isinstance(work, multiprocessing.pool.ApplyResult):
        # What a pool was to do when it was terminated is never ready.
        pool = getattr(work, "_pool", None)
        return work.ready() or getattr(pool, "_state", None) == multiprocessing.pool.TERMINATE
    return bool(work.done())

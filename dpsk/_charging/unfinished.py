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

from dpsk._charging.board import living_children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["Unfinished", "look_at_all", "pass_over_older", "under_way"]

#: Modules whose threads work off queues, where they wait for these, and what waits.
_POOLS = {"concurrent.futures.thread", "multiprocessing.pool", "distributed.threadpoolexecutor"}
_QUEUES = {"queue", "threading", "multiprocessing.queues", "multiprocessing.connection",
           "selectors"}
_WAIT = {"_worker", "worker", "_handle_workers", "_handle_tasks", "_handle_results",
         "_wait_for_updates"}
#: Packages whose own threads do nothing of a caller's.
_SERVICES = {"joblib", "loky", "multiprocessing", "concurrent", "distributed", "tornado", "tqdm",
             "ipykernel", "IPython", "zmq", "debugpy", "pydevd", "execnet", "xdist", "asyncio"}


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Work that is under way in a process.

    Attributes
    ----------
    threads : list of Thread
        Those that wait in a pool are not among them.
    children : list of (int, str)
        Numbers and names of processes.
    work : list of weak references
        To lazy results, futures and tasks: what nobody holds is not done any more.
    """

    threads: list[threading.Thread] = field(default_factory=list)
    children: list[tuple[int, str]] = field(default_factory=list)
    work: list[Any] = field(default_factory=list)

    def since(self, before: Unfinished) -> Unfinished:
        """Return what of this was not under way before."""
        return Unfinished([each for each in self.threads if each not in before.threads],
                          [each for each in self.children if each not in before.children],
                          [each for each in self.work if each not in before.work])

    def still(self) -> Unfinished:
        """Return what of this is not done yet."""
        living = living_children() if self.children else []
        return Unfinished([each for each in self.threads if _works(each)],
                          [each for each in self.children if each in living],
                          [each for each in self.work if not _is_done(each())])

    @property
    def is_in_process(self) -> bool:
        """bool : whether some of it goes on in this process."""
        return bool(self.threads or self.work)

    def tell(self, told: Callable[[], None]) -> None:
        """Call `told` when some of the work is done, or dropped."""
        for each in self.work:
            work: Any = each()
            if isinstance(work, concurrent.futures.Future):
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
    code, kinds = _lazy_code(), set(_kinds())
    found = [each for each in gc.get_objects() if type(each) in kinds]
    work = [each for each in found if not isinstance(each, GeneratorType) or each.gi_code in code]
    threads = [each for each in threading.enumerate() if each is not threading.current_thread()]
    return Unfinished(threads, living_children(), list(map(ref, work))).still()


def _kinds() -> Iterator[type]:
    """Yield the classes of what stands for results still to come."""
    yield GeneratorType
    if "asyncio" in sys.modules:
        yield from _with_subclasses(sys.modules["asyncio"].Task)
    if threading.active_count() > 1:
        # Without another thread nobody does what these stand for.
        yield from _with_subclasses(concurrent.futures.Future)
        yield from _with_subclasses(multiprocessing.pool.ApplyResult)
        yield from _with_subclasses(multiprocessing.pool.IMapIterator)
    if "distributed" in sys.modules:
        yield from _with_subclasses(sys.modules["distributed"].Future)


def _with_subclasses(kind: Any) -> set[type]:
    return {kind}.union(*map(_with_subclasses, kind.__subclasses__()))


@cache
def _lazy_code() -> tuple[Any, ...]:
    """Return the code of the generators by which joblib hands out results still to come."""
    return tuple(each.__code__ for each in vars(joblib.Parallel).values()
                 if inspect.isgeneratorfunction(each))


def _is_done(work: Any) -> bool:
    if work is None:
        return True
    if isinstance(work, GeneratorType):
        return work.gi_frame is None
    if isinstance(work, multiprocessing.pool.IMapIterator):
        # Public is nothing but its next result.
        return getattr(work, "_index", 0) == getattr(work, "_length", 0) or _is_over(work)
    if isinstance(work, multiprocessing.pool.ApplyResult):
        return work.ready() or _is_over(work)
    return bool(work.done()) or _is_service(work)


def _is_service(work: Any) -> bool:
    """Return whether a task of asyncio runs code of what serves other packages."""
    frame = getattr(getattr(work, "get_coro", dict)(), "cr_frame", None)
    name = "" if frame is None else frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in _SERVICES


def _is_over(result: Any) -> bool:
    """Return whether a pool was terminated: what it did not begin is never ready.

    What a thread has begun goes on, and the thread is under way.
    """
    state = getattr(getattr(result, "_pool", None), "_state", None)
    return bool(state == multiprocessing.pool.TERMINATE)


def _works(thread: threading.Thread) -> bool:
    """Return whether a thread lives, and does not stand by for whatever comes next."""
    if not thread.is_alive() or thread.ident is None:
        return False
    modules = {getattr(getattr(thread, "_target", None), "__module__", None) or "",
               type(thread).__module__}
    if modules & _POOLS:
        return _is_busy(thread.ident)
    return not {each.partition(".")[0] for each in modules} & _SERVICES


def _is_busy(number: int) -> bool:
    """Return whether a thread of a pool does something else than wait for work."""
    frame = sys._current_frames().get(number)
    if frame is None:
        return False
    # The innermost frames of one that waits are those of its queue.
    while frame is not None and frame.f_globals.get("__name__") in _QUEUES:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name not in _WAIT

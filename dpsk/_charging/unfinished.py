"""Threads, processes and results that go on when the block ends that they were begun in."""

from __future__ import annotations

import concurrent.futures
import gc
import inspect
import multiprocessing
import multiprocessing.pool
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, partial
from types import GeneratorType
from typing import TYPE_CHECKING
from weakref import finalize, ref

import joblib

from dpsk._charging.board import living_children
from dpsk._charging.threads import (
    SERVICES,
    Job,
    called_anywhere,
    called_here,
    handles_anywhere,
    is_of_a_pool,
    may_run,
    other_threads,
    this_thread,
    works,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["Unfinished", "look_at_all", "mark_older", "pass_over_older", "under_way",
           "unmark_older"]

#: Packages whose tasks do nothing of a caller's. What asyncio itself runs, such as a sleep, does.
_SERVICES = SERVICES - {"asyncio"}
#: In a list, so that the garbage collector knows whether it was frozen since.
_NEW: list[Any] = []


class Work:
    """A lazy result, a future or a task: what nobody holds is not done any more.

    One that calls back when it is done goes on until those have been called that were asked for
    before `tell` was: they may fit.
    """

    def __init__(self, work: Any) -> None:
        self._work, self._calls_back, self._has_called = ref(work), False, False
        self._calls = Counter(map(id, _callbacks(work)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Work) and self._work == other._work

    @property
    def is_done(self) -> bool:
        """bool : whether nothing of it is under way."""
        work = self._work()
        if self._calls_back and work is not None and not _is_left(work):
            return self._has_called and _is_done(work)
        return _is_done(work)

    @property
    def is_lazy(self) -> bool:
        """bool : whether it is done by whoever reads it."""
        return isinstance(self._work(), GeneratorType)

    @property
    def is_task(self) -> bool:
        """bool : whether it is a task of asyncio."""
        return "asyncio" in sys.modules and isinstance(
            self._work(), sys.modules["asyncio"].Task)

    @property
    def is_here(self) -> bool:
        """bool : whether the code that asks may be part of it."""
        work: Any = self._work()
        if self.is_task:
            # A loop calls back when the task is done, within no task.
            return work is _current_task() or (
                work.done() and not self._has_called and work.get_loop() is _loop())
        return self.is_lazy or self._work in called_here()

    @property
    def is_nobodys(self) -> bool:
        """bool : whether it is a future that no thread may do, and that calls nobody back."""
        return threading.active_count() == 1 and not self._calls and isinstance(
            self._work(), concurrent.futures.Future)

    @property
    def again(self) -> Work | None:
        """Work or None : the same as it is now, if it is not done."""
        work = self._work()
        return None if _is_done(work) else Work(work)

    def calls_more_than(self, other: Work) -> bool:
        """Return whether it calls somebody back who was not to be called by another."""
        return bool(self._calls - other._calls)

    def tell(self, told: Callable[[], None]) -> None:
        """Call `told` when it is done, or dropped."""
        work: Any = self._work()
        if work is None or self.is_done:
            return
        if isinstance(work, concurrent.futures.Future) or (
                "asyncio" in sys.modules and isinstance(work, sys.modules["asyncio"].Task)):
            self._calls_back = True
            work.add_done_callback(partial(self._called, told))
        else:
            finalize(work, told).atexit = False

    def _called(self, told, done):
        self._has_called = True
        told()


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Work that is under way in a process.

    Attributes
    ----------
    threads : list of Thread, int or Job
        Those that wait in a pool are not among them. Numbers are of threads that `threading`
        does not know of.
    children : list of (int, str)
        Numbers and names of processes.
    work : list of Work
        Lazy results, futures and tasks.
    """

    threads: list[threading.Thread | int | Job] = field(default_factory=list)
    children: list[tuple[int, str]] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)

    def since(self, before: Unfinished) -> Unfinished:
        """Return what of this was not under way before, or calls more back than it did."""
        # What is older may have been passed over since.
        later = [now for each in before.work if (now := each.again) and now.calls_more_than(each)]
        return Unfinished([each for each in self.threads if each not in before.threads],
                          [each for each in self.children if each not in before.children],
                          [each for each in self.work
                           if each not in before.work and not each.is_nobodys] + later)

    def still(self) -> Unfinished:
        """Return what of this is not done yet."""
        living = living_children() if self.children else []
        return Unfinished([each for each in self.threads if works(each)],
                          [each for each in self.children if each in living],
                          [each for each in self.work if not each.is_done])

    @property
    def may_be_here(self) -> bool:
        """bool : whether this thread may do some of it.

        Threads do their own, and those of any pool, also of an older one, what is waited for.
        """
        if any(each.is_here for each in self.work):
            return True
        if is_of_a_pool(threading.current_thread()) and self.may_be_in_workers:
            return True
        here = this_thread()
        return threading.get_ident() in self.threads or (here in self.threads and works(here))

    @property
    def may_be_in_workers(self) -> bool:
        """bool : whether processes that are older may do some of it."""
        return any(not each.is_task for each in self.work)

    @property
    def is_in_process(self) -> bool:
        """bool : whether some of it goes on in this process."""
        return bool(self.threads or self.work)

    def tell(self, told: Callable[[], None]) -> None:
        """Call `told` when some of the work is done, or dropped."""
        for each in self.work:
            each.tell(told)

    def __bool__(self) -> bool:
        return bool(self.threads or self.children or self.work)


def pass_over_older() -> None:
    """Have `under_way` pass over all results and futures that there are now.

    A look at all objects of a large process would take long. Those that are frozen are freed as
    ever, but for cycles.
    """
    gc.freeze()
    mark_older(anew=True)


def mark_older(anew: bool = False) -> None:
    """Have `under_way` notice where somebody has it pass over what is made from now on."""
    if anew or not _NEW:
        _NEW[:] = [[]]


def look_at_all() -> None:
    """Undo `pass_over_older`."""
    gc.unfreeze()
    unmark_older()


def unmark_older() -> None:
    """Undo `mark_older`."""
    _NEW.clear()


def under_way() -> Unfinished:
    """Return what is under way in this process."""
    code, kinds = _lazy_code(), set(_kinds())
    found = [each for each in _objects() if type(each) in kinds]
    work = [each for each in found if not isinstance(each, GeneratorType) or each.gi_code in code]
    return Unfinished(other_threads(), living_children(), list(map(Work, work))).still()


def _objects() -> list[Any]:
    """Return what may stand for work: not what was there before the block."""
    found = gc.get_objects()
    if _NEW and not any(each is _NEW[0] for each in found):
        # Somebody has frozen what is new as well, and nothing tells that from what is older.
        gc.unfreeze()
        found = gc.get_objects()
    return found


def _kinds() -> Iterator[type]:
    """Yield the classes of what stands for results still to come."""
    yield GeneratorType
    if "asyncio" in sys.modules:
        yield from _with_subclasses(sys.modules["asyncio"].Task)
    yield from _with_subclasses(concurrent.futures.Future)
    if threading.active_count() > 1:
        # Without another thread nobody does what these stand for.
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


def _callbacks(work: Any) -> list[Any]:
    """Return what of a caller's a future or a task calls when it is done."""
    if isinstance(work, concurrent.futures.Future):
        found = getattr(work, "_done_callbacks", ())
    else:
        # Each is beside its context. What is of asyncio itself wakes another task.
        found = [each[0] for each in getattr(work, "_callbacks", None) or ()
                 if isinstance(each, tuple)]
    return list(filter(_is_of_a_caller, found))


def _is_of_a_caller(callback: Any) -> bool:
    """Return whether what is called back is a caller's, and does not wake another task."""
    return (type(callback).__module__ != "_asyncio" and may_run(callback)
            and not isinstance(getattr(getattr(callback, "func", None), "__self__", None), Work))


def _calls_later(task: Any) -> bool:
    """Return whether the loop of a task that is done has somebody still to call back for it.

    Who waits for the task goes on before that.
    """
    if not hasattr(task, "get_loop") or task.get_loop().is_closed():
        return False
    # In one step, as its thread goes on.
    handles = (*getattr(task.get_loop(), "_ready", ()), *handles_anywhere())
    return any(each is task and _is_of_a_caller(handle._callback)
               for handle in handles for each in handle._args or ())


def _is_left(work: Any) -> bool:
    """Return whether a task will call nobody back, as its loop has ended."""
    return hasattr(work, "get_loop") and bool(work.get_loop().is_closed())


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
    if not work.done():
        return _is_service(work)
    # Who waits for it may go on before those are called that asked for it.
    if isinstance(work, concurrent.futures.Future):
        return not (_callbacks(work) and ref(work) in called_anywhere())
    return not _calls_later(work)


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


def _loop() -> Any:
    """Return the loop of asyncio that runs in this thread, or None."""
    return sys.modules["asyncio"]._get_running_loop()


def _current_task() -> Any:
    """Return the task of asyncio that runs in this thread, or None."""
    try:
        return sys.modules["asyncio"].current_task()
    except RuntimeError:
        return None

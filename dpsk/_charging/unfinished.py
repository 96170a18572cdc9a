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
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from types import GeneratorType
from typing import TYPE_CHECKING
from weakref import finalize, ref

import joblib

from dpsk._charging.board import living_children
from dpsk._charging.callbacks import Look, callbacks_of, handle_kind, is_task, loop_of
from dpsk._charging.objects import objects_of
from dpsk._charging.services import is_a, is_service_task, task_kinds
from dpsk._charging.threads import (
    Activity,
    called_here,
    is_of_a_pool,
    other_threads,
    this_thread,
    works,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["Unfinished", "mark", "under_way", "unmark"]


class _Mark:
    """Object that the garbage collector shows, unless it was frozen since."""


_MARKS: list[_Mark] = []


class Work:
    """A lazy result, a future or a task: what nobody holds is not done any more.

    One that calls back when it is done goes on until those have been called that were asked for
    before `tell` was: they may fit.
    """

    def __init__(self, work: Any, look: Look) -> None:
        self._work, self._calls_back, self._has_called = ref(work), False, False
        self._calls = Counter(map(id, callbacks_of(work, look)))

    def __eq__(self, other: object) -> bool:
        # There is one plain reference to an object, and classes may call others equal.
        return isinstance(other, Work) and self._work is other._work

    def __hash__(self) -> int:
        return id(self._work)

    def is_done(self, look: Look) -> bool:
        """Return whether nothing of it is under way."""
        work = self._work()
        if self._calls_back and work is not None and not _is_left(work):
            return self._has_called
        return self._has_called or _is_done(work, look)

    @property
    def is_lazy(self) -> bool:
        """bool : whether it is done by whoever reads it."""
        return type(self._work()) is GeneratorType

    @property
    def is_task(self) -> bool:
        """bool : whether it is a task of asyncio."""
        return is_task(self._work())

    @property
    def is_here(self) -> bool:
        """bool : whether the code that asks may be part of it."""
        work: Any = self._work()
        if self.is_task:
            # A loop calls back when the task is done, within no task.
            return work is _current_task() or (
                work.done() and not self._has_called and loop_of(work) is _loop())
        return self.is_lazy or id(work) in called_here()

    @property
    def is_nobodys(self) -> bool:
        """bool : whether it is a future that no thread may do, and that calls nobody back."""
        return threading.active_count() == 1 and not self._calls and is_a(
            self._work(), concurrent.futures.Future)

    def again(self, look: Look) -> Work | None:
        """Return the same as it is now, None if it is done."""
        work = self._work()
        return None if _is_done(work, look) else Work(work, look)

    def calls_more_than(self, other: Work) -> bool:
        """Return whether it calls somebody back who was not to be called by another."""
        return bool(self._calls - other._calls)

    def tell(self, told: Callable[[], None], look: Look) -> None:
        """Call `told` when it is done, and when it is dropped."""
        work: Any = self._work()
        if work is None or self.is_done(look):
            told()
            return
        finalize(work, told).atexit = False
        if is_a(work, concurrent.futures.Future):
            # Where another thread is about to fill it in, its end is seen by who asks.
            with suppress(AttributeError, KeyError, TypeError), work._condition:
                vars(work)["_done_callbacks"].append(partial(self._called, told))
                # Of one that is done a thread is at the callbacks: it comes to this one, or is
                # seen to be through.
                self._calls_back = not work.done()
        elif is_task(work):
            self._calls_back = True
            self._ask(told, work)

    def _ask(self, told, task):
        """Have a task call back, whichever thread its loop is in."""
        loop = loop_of(task)
        if loop is None:
            return
        if loop is _loop():
            task.add_done_callback(partial(self._called, told))
            return
        # Closed meanwhile, it calls nobody.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(partial(self._ask, told), task)

    def _called(self, told, done):
        if is_task(done) and Look().calls(done):
            # What is called back may ask for more of it.
            done.add_done_callback(partial(self._called, told))
            return
        self._has_called = True
        told()


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Work that is under way in a process.

    Attributes
    ----------
    threads : list of Activity or int
        Those that wait in a pool are not among them. Numbers are of threads that `threading`
        does not know of.
    children : list of (int, str)
        Numbers and names of processes.
    work : list of Work
        Lazy results, futures and tasks.
    has_calls : bool
        Whether a loop of asyncio is about to call something, that may end any future.
    """

    threads: list[Activity | int] = field(default_factory=list)
    children: list[tuple[int, str]] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    has_calls: bool = False

    def since(self, before: Unfinished) -> Unfinished:
        """Return what of this was not under way before, or calls more back than it did."""
        # What is older may be done by now, and calls somebody back.
        look, older = Look(), set(before.work)
        later = [now for each in before.work
                 if (now := each.again(look)) and now.calls_more_than(each)]
        return Unfinished([each for each in self.threads if each not in before.threads],
                          [each for each in self.children if each not in before.children],
                          [each for each in self.work
                           if each not in older
                           and (self.has_calls or not each.is_nobodys)] + later)

    def still(self) -> Unfinished:
        """Return what of this is not done yet."""
        living, look = living_children() if self.children else [], Look()
        return Unfinished([each for each in self.threads if works(each)],
                          [each for each in self.children if each in living],
                          [each for each in self.work if not each.is_done(look)],
                          self.has_calls)

    @property
    def may_be_here(self) -> bool:
        """bool : whether this thread may do some of it.

        Threads do their own, and those of any pool or loop, also of an older one, what is waited
        for.
        """
        if any(each.is_here for each in self.work):
            return True
        is_worker = is_of_a_pool(threading.current_thread()) or _loop() is not None
        if is_worker and self.may_be_in_workers:
            return True
        here = this_thread()
        return threading.get_ident() in self.threads or (here in self.threads and works(here))

    @property
    def may_be_in_workers(self) -> bool:
        """bool : whether pools and processes that are older may do some of it."""
        return bool(self.threads) or any(not each.is_task for each in self.work)

    @property
    def is_in_process(self) -> bool:
        """bool : whether some of it goes on in this process."""
        return bool(self.threads or self.work)

    def tell(self, told: Callable[[], None]) -> None:
        """Call `told` when all of the work is done, or dropped."""
        left, look = set(range(len(self.work))), Look()

        def ended(place: int) -> None:
            left.discard(place)
            if not left:
                told()

        for place, each in enumerate(self.work):
            each.tell(partial(ended, place), look)

    def __bool__(self) -> bool:
        return bool(self.threads or self.children or self.work)


def mark() -> None:
    """Have `under_way` notice where somebody freezes what is made from now on."""
    if not _MARKS:
        _MARKS.append(_Mark())


def unmark() -> None:
    """Undo `mark`."""
    _MARKS.clear()


def under_way() -> Unfinished:
    """Return what is under way in this process."""
    code, handle = _lazy_code(), handle_kind()
    found = _objects([kind for kind in (handle, *_kinds()) if kind is not None])
    # An older task that is done may be gone, and what it still calls is new.
    handles: list[Any] = [each for each in found if type(each) is handle]
    given = [each for called in handles for each in getattr(called, "_args", None) or ()
             if is_task(each)]
    work = [each for each in {id(each): each for each in (*found, *given)}.values()
            if type(each) is not handle
            and (type(each) is not GeneratorType or each.gi_code in code)]
    look = Look()
    return Unfinished(other_threads(), living_children(),
                      [Work(each, look) for each in work], bool(handles)).still()


def _objects(kinds: list[Any]) -> list[Any]:
    """Return what may stand for work."""
    found = objects_of([_Mark, *kinds])
    if _MARKS and not any(each is _MARKS[0] for each in found):
        # What was frozen since a block was entered tells nothing from what is older.
        gc.unfreeze()
        found = objects_of(kinds)
    return [each for each in found if type(each) is not _Mark]


def _kinds() -> Iterator[type]:
    """Yield the classes of what stands for results still to come."""
    yield GeneratorType
    for kind in task_kinds():
        yield from _with_subclasses(kind)
    yield from _with_subclasses(concurrent.futures.Future)
    if threading.active_count() > 1:
        # Without another thread nobody does what these stand for.
        yield from _with_subclasses(multiprocessing.pool.ApplyResult)
        yield from _with_subclasses(multiprocessing.pool.IMapIterator)
    of_dask = getattr(sys.modules.get("distributed"), "Future", None)
    if isinstance(of_dask, type):
        yield from _with_subclasses(of_dask)


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    # A metaclass may answer otherwise, or not at all.
    below: list[type] = type.__subclasses__(kind)
    for each in below:
        yield from _with_subclasses(each)


@cache
def _lazy_code() -> tuple[Any, ...]:
    """Return the code of the generators by which joblib hands out results still to come."""
    return tuple(each.__code__ for each in vars(joblib.Parallel).values()
                 if inspect.isgeneratorfunction(each))


def _is_left(work: Any) -> bool:
    """Return whether a task will call nobody back, as its loop has ended."""
    loop = loop_of(work)
    return loop is not None and bool(loop.is_closed())


def _is_done(work: Any, look: Look) -> bool:
    if work is None:
        return True
    if type(work) is GeneratorType:
        return work.gi_frame is None
    if is_a(work, multiprocessing.pool.IMapIterator):
        # Public is nothing but its next result.
        return getattr(work, "_index", 0) == getattr(work, "_length", 0) or _is_over(work)
    if is_a(work, multiprocessing.pool.ApplyResult):
        return _says(work, "ready") or _is_over(work)
    if not _says(work, "done"):
        return is_task(work) and (_is_left(work) or _serves(work))
    return not look.calls(work)


def _serves(task: Any) -> bool:
    # Asked by its method, a compiled task that is half built ends the process.
    return is_service_task(getattr(task, "_coro", None))


def _says(work: Any, name: str) -> bool:
    """Return what work says of itself; not done is what another thread has but half built."""
    with suppress(Exception):
        return bool(getattr(work, name)())
    return False


def _is_over(result: Any) -> bool:
    """Return whether a pool was terminated: what it did not begin is never ready.

    What a thread has begun goes on, and the thread is under way.
    """
    state = getattr(getattr(result, "_pool", None), "_state", None)
    return bool(state == multiprocessing.pool.TERMINATE)


def _loop() -> Any:
    """Return the loop of asyncio that runs in this thread, or None."""
    found = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    return None if found is None else found()


def _current_task() -> Any:
    """Return the task of asyncio that runs in this thread, or None."""
    with suppress(AttributeError, RuntimeError):
        return sys.modules["asyncio"].current_task()
    return None

"""Threads, processes and lazy results that outlive the block that started them."""

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
    """Object that the garbage collector lists, unless `gc.freeze` was called since."""


_MARKS: list[_Mark] = []


class Work:
    """A lazy result, a future or a task, held by a weak reference.

    Work counts as done once no code holds it. Work with callbacks goes on until all callbacks that
    were added before `tell` have run, because they may fit.
    """

    def __init__(self, work: Any, look: Look) -> None:
        self._work, self._calls_back, self._has_called = ref(work), False, False
        self._calls = Counter(map(id, callbacks_of(work, look)))

    def __eq__(self, other: object) -> bool:
        # Python keeps one plain weak reference per object; `==` would run code of the class.
        return isinstance(other, Work) and self._work is other._work

    def __hash__(self) -> int:
        return id(self._work)

    def is_done(self, look: Look) -> bool:
        """Return whether the work and its callbacks are done."""
        work = self._work()
        if self._calls_back and work is not None and not _is_left(work):
            return self._has_called
        return self._has_called or _is_done(work, look)

    @property
    def is_lazy(self) -> bool:
        """bool : whether the reader of the result runs the work."""
        return type(self._work()) is GeneratorType

    @property
    def is_task(self) -> bool:
        """bool : whether the work is an asyncio task."""
        return is_task(self._work())

    @property
    def is_here(self) -> bool:
        """bool : whether the code that asks may be part of the work."""
        work: Any = self._work()
        if self.is_task:
            # A loop runs the callbacks of a task after it is done, outside of any task.
            return work is _current_task() or (
                work.done() and not self._has_called and loop_of(work) is _loop())
        return self.is_lazy or id(work) in called_here()

    @property
    def is_nobodys(self) -> bool:
        """bool : whether it is a future without callbacks, and no other thread exists."""
        return threading.active_count() == 1 and not self._calls and is_a(
            self._work(), concurrent.futures.Future)

    def again(self, look: Look) -> Work | None:
        """Return a new snapshot of the work, or None if it is done."""
        work = self._work()
        return None if _is_done(work, look) else Work(work, look)

    def calls_more_than(self, other: Work) -> bool:
        """Return whether it has callbacks that the snapshot `other` does not have."""
        return bool(self._calls - other._calls)

    def tell(self, told: Callable[[], None], look: Look) -> None:
        """Call `told` when the work is done, and when it is dropped."""
        work: Any = self._work()
        if work is None or self.is_done(look):
            told()
            return
        finalize(work, told).atexit = False
        if is_a(work, concurrent.futures.Future):
            # A future that another thread is still building raises; `is_done` sees its end.
            with suppress(AttributeError, KeyError, TypeError), work._condition:
                vars(work)["_done_callbacks"].append(partial(self._called, told))
                # If the future is done, a thread is running its callbacks: it reaches this one,
                # or `is_done` sees that it has finished.
                self._calls_back = not work.done()
        elif is_task(work):
            self._calls_back = True
            self._ask(told, work)

    def _ask(self, told, task):
        """Add a callback to a task, in the thread of its loop."""
        loop = loop_of(task)
        if loop is None:
            return
        if loop is _loop():
            task.add_done_callback(partial(self._called, told))
            return
        # A loop that was closed meanwhile raises a RuntimeError, and runs no callbacks.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(partial(self._ask, told), task)

    def _called(self, told, done):
        if is_task(done) and Look().calls(done):
            # A callback may have added further callbacks: run after them.
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
        Busy threads, without idle threads of pools. An int is the identifier of a thread that
        `threading` does not know.
    children : list of (int, str)
        Ids and names of child processes.
    work : list of Work
        Lazy results, futures and tasks.
    has_calls : bool
        Whether an asyncio loop has scheduled a call, which may finish any future.
    """

    threads: list[Activity | int] = field(default_factory=list)
    children: list[tuple[int, str]] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    has_calls: bool = False

    def since(self, before: Unfinished) -> Unfinished:
        """Return the work that was not under way before, or that has new callbacks."""
        # Take older work anew: it may be done by now, and callbacks may have been added.
        look, older = Look(), set(before.work)
        later = [now for each in before.work
                 if (now := each.again(look)) and now.calls_more_than(each)]
        return Unfinished([each for each in self.threads if each not in before.threads],
                          [each for each in self.children if each not in before.children],
                          [each for each in self.work
                           if each not in older
                           and (self.has_calls or not each.is_nobodys)] + later)

    def still(self) -> Unfinished:
        """Return the work that is not done yet."""
        living, look = living_children() if self.children else [], Look()
        return Unfinished([each for each in self.threads if works(each)],
                          [each for each in self.children if each in living],
                          [each for each in self.work if not each.is_done(look)],
                          self.has_calls)

    @property
    def may_be_here(self) -> bool:
        """bool : whether this thread may run some of the work.

        A thread runs its own work. A thread of any pool or asyncio loop, also of one started
        before, may run work of other threads.
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
        """bool : whether older pools and processes may run some of the work."""
        return bool(self.threads) or any(not each.is_task for each in self.work)

    @property
    def is_in_process(self) -> bool:
        """bool : whether some of the work goes on in this process."""
        return bool(self.threads or self.work)

    def tell(self, told: Callable[[], None]) -> None:
        """Call `told` when all entries of `work` are done or dropped."""
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
    """Let `under_way` notice if `gc.freeze` is called from now on."""
    if not _MARKS:
        _MARKS.append(_Mark())


def unmark() -> None:
    """Undo `mark`."""
    _MARKS.clear()


def under_way() -> Unfinished:
    """Return the work that is under way in this process."""
    code, handle = _lazy_code(), handle_kind()
    found = _objects([kind for kind in (handle, *_kinds()) if kind is not None])
    # A task that is done may only be found as an argument of a scheduled callback.
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
    """Return the objects of some classes that may represent work."""
    found = objects_of([_Mark, *kinds])
    if _MARKS and not any(each is _MARKS[0] for each in found):
        # Frozen objects are not listed, and work started in the block may be among them.
        gc.unfreeze()
        found = objects_of(kinds)
    return [each for each in found if type(each) is not _Mark]


def _kinds() -> Iterator[type]:
    """Yield the classes of objects that represent pending results."""
    yield GeneratorType
    for kind in task_kinds():
        yield from _with_subclasses(kind)
    yield from _with_subclasses(concurrent.futures.Future)
    if threading.active_count() > 1:
        # Other threads fill in these results; if there is none, no work is pending.
        yield from _with_subclasses(multiprocessing.pool.ApplyResult)
        yield from _with_subclasses(multiprocessing.pool.IMapIterator)
    of_dask = getattr(sys.modules.get("distributed"), "Future", None)
    if isinstance(of_dask, type):
        yield from _with_subclasses(of_dask)


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    # A metaclass may override `__subclasses__`, or raise.
    below: list[type] = type.__subclasses__(kind)
    for each in below:
        yield from _with_subclasses(each)


@cache
def _lazy_code() -> tuple[Any, ...]:
    """Return the code of the generators through which joblib returns pending results."""
    return tuple(each.__code__ for each in vars(joblib.Parallel).values()
                 if inspect.isgeneratorfunction(each))


def _is_left(work: Any) -> bool:
    """Return whether a task will run no callbacks because its loop is closed."""
    loop = loop_of(work)
    return loop is not None and bool(loop.is_closed())


def _is_done(work: Any, look: Look) -> bool:
    if work is None:
        return True
    if type(work) is GeneratorType:
        return work.gi_frame is None
    if is_a(work, multiprocessing.pool.IMapIterator):
        # The public interface can only take the next result.
        return getattr(work, "_index", 0) == getattr(work, "_length", 0) or _is_over(work)
    if is_a(work, multiprocessing.pool.ApplyResult):
        return _says(work, "ready") or _is_over(work)
    if not _says(work, "done"):
        return is_task(work) and (_is_left(work) or _serves(work))
    return not look.calls(work)


def _serves(task: Any) -> bool:
    # `get_coro` of a compiled task that is not fully built would crash the process.
    return is_service_task(getattr(task, "_coro", None))


def _says(work: Any, name: str) -> bool:
    """Return the answer of a method of work; False if the work is not fully built."""
    with suppress(Exception):
        return bool(getattr(work, name)())
    return False


def _is_over(result: Any) -> bool:
    """Return whether a pool was terminated: jobs that have not started never run.

    A job that a thread has started goes on, and the thread counts as under way.
    """
    state = getattr(getattr(result, "_pool", None), "_state", None)
    return bool(state == multiprocessing.pool.TERMINATE)


def _loop() -> Any:
    """Return the asyncio loop that runs in this thread, or None."""
    found = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    return None if found is None else found()


def _current_task() -> Any:
    """Return the asyncio task that runs in this thread, or None."""
    with suppress(AttributeError, RuntimeError):
        return sys.modules["asyncio"].current_task()
    return None

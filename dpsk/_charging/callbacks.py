"""Callbacks of futures and tasks that are done, in which a caller's code may fit.

Code that waits for a result may continue before the callbacks have run. So work that is done may
still have callbacks to run.
"""

from __future__ import annotations

import concurrent.futures
import sys
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dpsk._charging.services import is_a, is_service_callback, task_kinds
from dpsk._charging.threads import called_anywhere, frames_of_all

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Look", "callbacks_of", "handle_kind", "is_task", "loop_of"]


class Look:
    """Snapshot of callbacks that threads run, or that asyncio loops are about to run.

    It is cached for one question about many pieces of work; each question takes a new one.
    """

    def __init__(self) -> None:
        self._futures: set[int] | None = None
        self._running: list[Any] | None = None
        self._loops: WeakKeyDictionary[Any, dict[int, list[Any]]] = WeakKeyDictionary()

    def calls(self, work: Any) -> bool:
        """Return whether work that is done still has a caller's callbacks to run."""
        if is_task(work):
            return not all(map(is_service_callback, self.pending(work)))
        if not is_a(work, concurrent.futures.Future) or not callbacks_of(work):
            return False
        if self._futures is None:
            self._futures = called_anywhere()
        return id(work) in self._futures

    def pending(self, task: Any) -> list[Any]:
        """Return the callbacks that a task's loop runs or is about to run with the task."""
        loop = loop_of(task)
        if loop is None or loop.is_closed():
            return []
        if loop not in self._loops:
            self._loops[loop] = self._by_argument(loop)
        return self._loops[loop].get(id(task), [])

    def _by_argument(self, loop: Any) -> dict[int, list[Any]]:
        """Return the callbacks of a loop, by the id of each of their arguments."""
        if self._running is None:
            self._running = _running_handles()
        found = defaultdict(list)
        # Copy in one step, because the thread of the loop keeps running.
        for handle in (*getattr(loop, "_ready", ()), *self._running):
            for each in getattr(handle, "_args", None) or ():
                found[id(each)].append(getattr(handle, "_callback", None))
        return found


def callbacks_of(work: Any, look: Look | None = None) -> list[Any]:
    """Return the caller's callbacks that a future or a task still has to run."""
    if is_a(work, concurrent.futures.Future):
        found = _kept(work, "_done_callbacks")
    else:
        # asyncio keeps pairs of a callback and its context.
        found = [each[0] for each in _kept(work, "_callbacks") if is_a(each, tuple)]
        if look is not None and is_task(work):
            found += look.pending(work)
    return [each for each in found if not is_service_callback(each)]


def _kept(work: Any, name: str) -> list[Any]:
    """Return a list attribute of work; empty if another thread is still building it."""
    with suppress(Exception):
        return list(getattr(work, name) or ())
    return []


def handle_kind() -> type | None:
    """Return the class of asyncio's scheduled calls, None if asyncio is not imported."""
    return getattr(sys.modules.get("asyncio"), "Handle", None)


def loop_of(task: Any) -> Any:
    """Return the loop of a task, or None if another thread is still building it."""
    with suppress(Exception):
        return task.get_loop()
    return None


def is_task(work: Any) -> bool:
    """Return whether an object is an asyncio task."""
    return is_a(work, task_kinds())


def _running_handles() -> list[Any]:
    """Return the handles that asyncio loops are running, in any thread."""
    kind: Any = handle_kind()
    if kind is None:
        return []
    code = kind._run.__code__
    # `Handle._run` sets its `self` to None at its end.
    found = [each.f_locals.get("self") for each in frames_of_all() if each.f_code is code]
    return [each for each in found if each is not None]

"""Callbacks of futures and tasks that are done, where code of a caller may fit.

Who waits for a result may go on before that, so that work which is done may still call somebody.
"""

from __future__ import annotations

import concurrent.futures
import sys
from collections import defaultdict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dpsk._charging.services import is_a, is_service_callback
from dpsk._charging.threads import called_anywhere, frames_of_all

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["Look", "callbacks_of", "handle_kind", "is_task", "task_kinds"]


class Look:
    """Callbacks in progress in threads, and those that loops of asyncio are about to run.

    Each question of many pieces of work takes a look of its own.
    """

    def __init__(self) -> None:
        self._futures: set[int] | None = None
        self._running: list[Any] | None = None
        self._loops: WeakKeyDictionary[Any, dict[int, list[Any]]] = WeakKeyDictionary()

    def calls(self, work: Any) -> bool:
        """Return whether somebody is still to be called back for work that is done."""
        if is_task(work):
            return not all(map(is_service_callback, self.pending(work)))
        if not is_a(work, concurrent.futures.Future) or not callbacks_of(work):
            return False
        if self._futures is None:
            self._futures = called_anywhere()
        return id(work) in self._futures

    def pending(self, task: Any) -> list[Any]:
        """Return what the loop of a task is at, or about to call, with the task."""
        loop = task.get_loop()
        if loop.is_closed():
            return []
        if loop not in self._loops:
            self._loops[loop] = self._by_argument(loop)
        return self._loops[loop].get(id(task), [])

    def _by_argument(self, loop: Any) -> dict[int, list[Any]]:
        """Return what a loop calls, by what it is called with."""
        if self._running is None:
            self._running = _running_handles()
        found = defaultdict(list)
        # In one step, as its thread goes on.
        for handle in (*getattr(loop, "_ready", ()), *self._running):
            for each in handle._args or ():
                found[id(each)].append(handle._callback)
        return found


def callbacks_of(work: Any, look: Look | None = None) -> list[Any]:
    """Return what of a caller's a future or a task calls when it is done, or is about to."""
    if is_a(work, concurrent.futures.Future):
        found: Iterable[Any] = getattr(work, "_done_callbacks", ())
    else:
        # Each is beside its context.
        found = [each[0] for each in getattr(work, "_callbacks", None) or ()
                 if is_a(each, tuple)]
        if look is not None and is_task(work):
            found += look.pending(work)
    return [each for each in found if not is_service_callback(each)]


def handle_kind() -> type | None:
    """Return the class of what a loop of asyncio calls soon, None where there is no asyncio."""
    return getattr(sys.modules.get("asyncio"), "Handle", None)


def task_kinds() -> tuple[type, ...]:
    """Return the classes of tasks of asyncio: that in C, and that in Python."""
    if "asyncio" not in sys.modules:
        return ()
    tasks = sys.modules["asyncio"].tasks
    return tuple({tasks.Task, getattr(tasks, "_PyTask", tasks.Task)})


def is_task(work: Any) -> bool:
    """Return whether something is a task of asyncio."""
    return is_a(work, task_kinds())


def _running_handles() -> list[Any]:
    """Return the handles that loops of asyncio are at in any thread."""
    kind: Any = handle_kind()
    if kind is None:
        return []
    code = kind._run.__code__
    # It forgets itself at its end.
    found = [each.f_locals.get("self") for each in frames_of_all() if each.f_code is code]
    return [each for each in found if each is not None]

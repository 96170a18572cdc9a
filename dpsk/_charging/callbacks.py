"""Callbacks of futures and tasks that are done, where code of a caller may fit.

Who waits for a result may go on before that, so that work which is done may still call somebody.
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
        loop = loop_of(task)
        if loop is None or loop.is_closed():
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
            for each in getattr(handle, "_args", None) or ():
                found[id(each)].append(getattr(handle, "_callback", None))
        return found


def callbacks_of(work: Any, look: Look | None = None) -> list[Any]:
    """Return what of a caller's a future or a task calls when it is done, or is about to."""
    if is_a(work, concurrent.futures.Future):
        found = _kept(work, "_done_callbacks")
    else:
        # Each is beside its context.
        found = [each[0] for each in _kept(work, "_callbacks") if is_a(each, tuple)]
        if look is not None and is_task(work):
            found += look.pending(work)
    return [each for each in found if not is_service_callback(each)]


def _kept(work: Any, name: str) -> list[Any]:
    """Return a list that work keeps, empty where another thread has but half built it."""
    with suppress(Exception):
        return list(getattr(work, name) or ())
    return []


def handle_kind() -> type | None:
    """Return the class of what a loop of asyncio calls soon, None where there is no asyncio."""
    return getattr(sys.modules.get("asyncio"), "Handle", None)


def loop_of(task: Any) -> Any:
    """Return the loop of a task, None where another thread has but half built it."""
    with suppress(Exception):
        return task.get_loop()
    return None


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

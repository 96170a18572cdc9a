"""Context variables that are set for a block."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["holding", "may_start_threads", "without_threads"]

_Of = TypeVar("_Of")
_MAY_START_THREADS: ContextVar[bool] = ContextVar("may start threads", default=True)


@contextmanager
def holding(variable: ContextVar[_Of], value: _Of) -> Iterator[None]:
    """Set a context variable inside the block, and restore its value at the end."""
    before = variable.get()
    # Set inside `try`, because an interrupt may come right after.
    try:
        variable.set(value)
        yield
    finally:
        variable.set(before)


@contextmanager
def without_threads() -> Iterator[None]:
    """Start no threads inside the block or the decorated function.

    Other programs can count threads, by the numbers that the system gives to threads and
    processes, so they must not depend on a secret number of runs.
    """
    with holding(_MAY_START_THREADS, False):
        yield


def may_start_threads() -> bool:
    """Return whether the work of this context may be given to other threads."""
    return _MAY_START_THREADS.get()

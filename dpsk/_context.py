"""Context variables that are set for a block, and the process that a fit belongs to."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["holding", "may_start_threads", "refuse_fork_of", "without_threads"]

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


def refuse_fork_of(process: int) -> None:
    """Raise a RuntimeError in a fork of the process of a fit: its noise would be other noise."""
    if os.getpid() != process:
        raise RuntimeError("The process was forked during a fit, and only the fit of the parent "
                           "was charged; fork no process in signal handlers and callbacks, or "
                           "fit again in the child.")

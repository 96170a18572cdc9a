"""Context variables that are set for a block."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import ContextVar

__all__ = ["holding"]

_Of = TypeVar("_Of")


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

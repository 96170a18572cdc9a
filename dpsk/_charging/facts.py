"""Public facts recorded with charges, stated by code that makes several fits."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["stated", "stating"]

#: Facts to add to every charge, and pairs of a text and its replacement.
_STATED: ContextVar[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = ContextVar(
    "what charges state", default=((), ()))


@contextmanager
def stating(*facts: str, instead: Iterable[tuple[str, str]] = ()) -> Iterator[None]:
    """Add facts to the charges of this thread, and replace texts by pairs (old, new)."""
    before = _STATED.get()
    # Set inside `try`, because an interrupt may come right after.
    try:
        _STATED.set(((*before[0], *facts), (*before[1], *instead)))
        yield
    finally:
        _STATED.set(before)


def stated(public: Iterable[str]) -> tuple[str, ...]:
    """Return the facts of a charge, with this thread's additions and replacements."""
    more, instead = _STATED.get()
    facts = list(public)
    for untrue, true in instead:
        # Replace inside the text, because facts of a step begin with its name.
        facts = [fact.replace(untrue, true) for fact in facts]
    return tuple(dict.fromkeys((*facts, *more)))

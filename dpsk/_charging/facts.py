"""Public facts of charges, as whoever makes several fits knows them better than each fit."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["stated", "stating"]

#: What is added to the facts of every charge, and what each of some words is to be instead.
_STATED: ContextVar[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = ContextVar(
    "what charges state", default=((), ()))


@contextmanager
def stating(*facts: str, instead: Iterable[tuple[str, str]] = ()) -> Iterator[None]:
    """Let charges of this thread state more facts, and the second of two words for the first."""
    before = _STATED.get()
    # Inside, as an interrupt may come once it is set.
    try:
        _STATED.set(((*before[0], *facts), (*before[1], *instead)))
        yield
    finally:
        _STATED.set(before)


def stated(public: Iterable[str]) -> tuple[str, ...]:
    """Return the facts of a charge as they are to be stated."""
    more, instead = _STATED.get()
    facts = list(public)
    for untrue, true in instead:
        # Facts of a step have its name before them.
        facts = [fact.replace(untrue, true) for fact in facts]
    return tuple(dict.fromkeys((*facts, *more)))

"""Public facts recorded with charges, stated by code that makes several fits."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from dpsk._context import holding

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

__all__ = ["stated", "stating"]

#: Facts to add to every charge, and pairs of a text and its replacement.
_STATED: ContextVar[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = ContextVar(
    "what charges state", default=((), ()))


def stating(*facts: str,
            instead: Iterable[tuple[str, str]] = ()) -> AbstractContextManager[None]:
    """Add facts to the charges of this thread, and replace texts by pairs (old, new)."""
    before, others = _STATED.get()
    return holding(_STATED, ((*before, *facts), (*others, *instead)))


def stated(public: Iterable[str]) -> tuple[str, ...]:
    """Return the facts of a charge, with this thread's additions and replacements."""
    more, instead = _STATED.get()
    facts = list(public)
    for untrue, true in instead:
        # Replace inside the text, because facts of a step begin with its name.
        facts = [fact.replace(untrue, true) for fact in facts]
    return tuple(dict.fromkeys((*facts, *more)))

"""Fits up to their first charge, which raise what they would refuse, at no price.

Several fits under one budget are charged for together, before the first. What a later one would
refuse of parameters, shapes and types is therefore found by fitting a clone of it beforehand, and
stopping where it would be charged: nothing is drawn or kept by then.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from sklearn.base import clone

from dpsk._data.errors import without_warnings
from dpsk._origin import is_of
from dpsk._progress import without_callbacks

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.events import Event

__all__ = ["is_rehearsed", "rehearse", "stop_rehearsal"]

#: Holds something while it lasts, also in copies of the context that outlive it.
_REHEARSING: ContextVar[list[bool] | None] = ContextVar("rehearsing", default=None)


class _Ready(BaseException):
    """Says that a fit would now be charged; no handler of errors on the way may take it."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


def is_rehearsed() -> bool:
    """Return whether fits are rehearsed now, as parts of something that will pay for them."""
    return bool(_REHEARSING.get())


def stop_rehearsal(event: Event) -> None:
    """End a fit that is rehearsed; called before an event is charged."""
    if is_rehearsed():
        raise _Ready(event)


def rehearse(estimator: Any, X: Any, y: Any, **fit_params: Any) -> Event | None:
    """Raise what a fit would before it is charged, and leave the estimator as it is.

    Only fits of this package are: of another class it is not known where they would be charged.

    Parameters
    ----------
    estimator : estimator
        At its budget.
    X, y : array-like
        Rows and targets, or rows that stand for them.
    **fit_params : dict
        What else its `fit` is told.

    Returns
    -------
    event : Event or None
        The privacy cost that it would be charged; None where it is not known.
    """
    if not is_of(type(estimator).fit, "dpsk"):
        return None
    # Nobody is told of what is no fit.
    copy = without_callbacks(clone(estimator))
    before, lasts = _REHEARSING.get(), [True]
    # Inside, as an interrupt may come once it is set.
    try:
        _REHEARSING.set(lasts)
        without_warnings(copy.fit, X, y, **fit_params)
    except _Ready as ready:
        return ready.event
    finally:
        lasts.clear()
        _REHEARSING.set(before)
    return None

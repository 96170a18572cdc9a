"""Rehearsals: fits up to their first charge, which raise their errors at no privacy cost.

Several fits under one budget are charged together, before the first of them. So that a later fit
does not fail on parameters, shapes or types after that charge, a clone of it is fitted beforehand
and stopped where it would be charged. At that point nothing has been drawn or stored.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from sklearn.base import clone

from dpsk._context import holding
from dpsk._data.errors import without_warnings
from dpsk._origin import is_of
from dpsk._progress import without_callbacks

if TYPE_CHECKING:
    from typing import Any

    from dpsk._privacy.events import Event

__all__ = ["is_rehearsed", "rehearse", "stop_rehearsal"]

#: Set during a rehearsal, also in copies of the context that outlive it.
_REHEARSING: ContextVar[list[bool] | None] = ContextVar("rehearsing", default=None)


class _Ready(BaseException):
    """Raised where a fit would be charged; a BaseException, so that no error handler stops it."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


def is_rehearsed() -> bool:
    """Return whether fits are being rehearsed, as parts of a fit that will be charged."""
    return bool(_REHEARSING.get())


def stop_rehearsal(event: Event) -> None:
    """End a rehearsed fit; called before an event is charged."""
    if is_rehearsed():
        raise _Ready(event)


def rehearse(estimator: Any, X: Any, y: Any = None, **fit_params: Any) -> Event | None:
    """Raise the errors that a fit raises before it is charged; the estimator does not change.

    Only estimators of this package are rehearsed, as only they are known to charge first.

    Parameters
    ----------
    estimator : estimator
        With its budget.
    X, y : array-like
        Rows and targets, or substitutes of the same types; no targets for fits without them.
    **fit_params : dict
        Other arguments of its `fit`.

    Returns
    -------
    event : Event or None
        The privacy cost that it would be charged; None if it is not known.
    """
    if not is_of(type(estimator).fit, "dpsk"):
        return None
    # Callbacks are not told of a rehearsal.
    copy = without_callbacks(clone(estimator))
    lasts = [True]
    try:
        with holding(_REHEARSING, lasts):
            without_warnings(copy.fit, X, y, **fit_params)
    except _Ready as ready:
        return ready.event
    finally:
        lasts.clear()
    return None

"""Atomic fits, with warnings that wait until the model is complete.

A fit sets all attributes of an estimator at once, and drops those of the fit before. A fit that
raises an error leaves the estimator as it was. Before the fit is charged, a warning
that the caller turns into an error costs no budget. After the charge, warnings wait until the
model is complete, so that a caller who has paid for a model gets one.

Warnings of other packages may depend on rows, so they are suppressed. `warnings.catch_warnings` is
not thread-safe: threads that leave it in another order than they entered it change the filters for
good. Instead, one filter stands before all others and decides by the context of the warning.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from dpsk._context import holding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["apart", "behind_private_step", "follows_private_step", "heard", "is_part", "muted",
           "note_charge", "noted", "warn", "whole_fit"]


@dataclass(eq=False)
class _Fit:
    """A fit under way, and the warnings to issue when it is complete."""

    outer: _Fit | None = None
    is_muted: bool = False
    is_charged: bool = False
    #: False for other work, whose result takes its warnings as notes.
    is_fit: bool = True
    waiting: list[tuple[str, type[Warning]]] = field(default_factory=list)


_CURRENT: ContextVar[_Fit | None] = ContextVar("the fit under way", default=None)
#: List that collects the texts of suppressed warnings in this context, or None.
_HEARD: ContextVar[list[str] | None] = ContextVar("texts of warnings", default=None)
#: Whether this package is issuing a warning now, which is never suppressed.
_SPEAKS: ContextVar[bool] = ContextVar("warns", default=False)
#: Whether a private step has mapped the rows of a prediction.
_IS_BEHIND: ContextVar[bool] = ContextVar("behind a private step", default=False)
#: By process id, the blocks that suppress all warnings of the process, in all its threads.
_MUTED: dict[int, set[_Fit]] = {}


class _First:
    """Pattern of a warning filter that matches by context instead of by text."""

    def match(self, text: str) -> bool:
        """Return whether a warning is suppressed."""
        if _SPEAKS.get():
            return False
        texts, fit = _HEARD.get(), _CURRENT.get()
        if texts is not None:
            texts.append(text)
            return True
        return bool(_MUTED.get(os.getpid())) or (fit is not None and fit.is_muted)

    @property
    def pattern(self) -> str:
        """str : regular expression for scikit-learn, which copies filters to its workers."""
        return "" if self.match("") else "(?!)"

    def __reduce__(self) -> tuple[Any, ...]:
        return re.compile, (self.pattern,)


#: Name of the attribute that lists what the last fit has added to an estimator.
_FITTED = "_fitted_names"
_FIRST = _First()
_FILTER: Any = ("ignore", _FIRST, Warning, None, 0)
_TIDIES = threading.Lock()


def warn(message: str, category: type[Warning], stacklevel: int = 2) -> None:
    """Warn now, or after the fit under way is complete if it has been charged."""
    fit = _CURRENT.get()
    if fit is not None and fit.is_muted:
        return
    if fit is None or not fit.is_charged:
        with holding(_SPEAKS, True):
            warnings.warn(message, category, stacklevel=stacklevel + 1)
    elif (message, category) not in fit.waiting:
        fit.waiting.append((message, category))


def note_charge() -> None:
    """Record that the fit under way is charged; its warnings wait from now on."""
    fit = _CURRENT.get()
    while fit is not None:
        fit.is_charged, fit = True, fit.outer


def is_part() -> bool:
    """Return whether the fit under way is a part of another fit."""
    fit, count = _CURRENT.get(), 0
    while fit is not None:
        count += fit.is_fit
        fit = fit.outer
    return count > 1


def follows_private_step() -> bool:
    """Return whether a private step may have mapped the rows, so that none may be refused."""
    fit = _CURRENT.get()
    return _IS_BEHIND.get() or is_part() or (fit is not None and fit.is_charged)


def behind_private_step() -> Any:
    """Take the rows inside as those that a private step has mapped, in predictions too."""
    return holding(_IS_BEHIND, True)


def whole_fit(function: Callable[..., Any], is_fit: bool = True) -> Callable[..., Any]:
    """Decorate `fit` to leave a complete model, or the state before if it raises.

    With `is_fit` False, fits inside are no parts of this one, as those of a search.
    """
    inner, known = _at_once(function), signature(function)

    @wraps(function)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            known.bind(self, *args, **kwargs)
        except TypeError as error:
            # Python would name the base class that defines the method.
            raise TypeError(f"{type(self).__name__}.{function.__name__}: {error}.") from None
        outer = _CURRENT.get()
        fit = _Fit(outer, outer is not None and outer.is_muted,
                   outer is not None and outer.is_charged, is_fit)
        with holding(_CURRENT, fit):
            found = inner(self, *args, **kwargs)
        for message, category in fit.waiting:
            # Points at the caller of `fit`, outside of its wrappers.
            warn(message, category, stacklevel=4 if is_fit else 3)
        return found
    return whole


def _at_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `fit` to fit a copy without former fits, and to take over its attributes.

    Attributes of a former fit, or of one in another thread, would stand beside a certificate that
    does not cover them.
    """
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        given, kind = _not_fitted(self), type(self)
        copy: Any = object.__new__(kind)
        vars(copy).update(given)
        result = function(copy, *args, **kwargs)
        found, missing = vars(copy), object()
        found[_FITTED] = tuple(name for name in found if name not in {*given, _FITTED})
        # Settings that the fit left alone may have changed meanwhile.
        kept = {name: value for name, value in _not_fitted(self).items()
                if found.get(name, missing) is given.get(name, missing)}
        # Replaced in one step, because an interrupt may follow.
        self.__dict__ = {**found, **kept}
        return self if result is copy else result
    return fit


def _not_fitted(estimator: Any) -> dict[str, Any]:
    """Return the attributes of an estimator without those that its last fit has added."""
    held = dict(vars(estimator))
    fitted = held.pop(_FITTED, ())
    return {name: value for name, value in held.items() if name not in fitted}


@contextmanager
def muted() -> Iterator[None]:
    """Suppress all warnings inside, in all threads, as work inside may start threads."""
    outer = _CURRENT.get()
    fit = _Fit(outer, True, outer is not None and outer.is_charged, is_fit=False)
    others = _MUTED.setdefault(os.getpid(), set())
    _stand_first()
    with holding(_CURRENT, fit):
        try:
            others.add(fit)
            yield
        finally:
            others.discard(fit)


@contextmanager
def noted() -> Iterator[list[tuple[str, type[Warning]]]]:
    """Issue warnings before the first charge inside, and collect those after it.

    A function has no object that keeps what was paid for, as an estimator does. So its result
    takes late warnings as notes.
    """
    outer = _CURRENT.get()
    fit = _Fit(outer, outer is not None and outer.is_muted, is_fit=False)
    with holding(_CURRENT, fit):
        yield fit.waiting


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the texts of other packages' warnings inside, and suppress the warnings."""
    _stand_first()
    texts: list[str] = []
    with holding(_HEARD, texts):
        yield texts


def apart() -> Any:
    """Treat fits inside as independent of the fit under way."""
    return holding(_CURRENT, None)


def _stand_first() -> None:
    """Move this package's filter before filters that were added since."""
    filters: Any = warnings.filters
    if filters and filters[0] == _FILTER:
        return
    # Insert the new entry before removing older ones, as other threads read the list meanwhile.
    filters.insert(0, _FILTER)
    if _TIDIES.acquire(blocking=False):
        try:
            for place in range(len(filters) - 1, 0, -1):
                if filters[place] == _FILTER:
                    del filters[place]
        finally:
            _TIDIES.release()

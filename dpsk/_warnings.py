"""Fits are all or nothing: in what they leave on an estimator, and in what they warn of.

A fit that ends in an error leaves the estimator as it was. A warning that the caller turns into an
error costs nothing before a fit is charged. Once it is charged, warnings wait until its model is
complete, so that whoever pays for a model has one.

Warnings of other packages may depend on rows, and are turned off. `warnings.catch_warnings` would
leave the filters of one thread to another, for good where two threads leave in another order than
they entered. One filter stands before all others instead, and asks where a warning comes from.
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
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["apart", "heard", "is_part", "muted", "note_charge", "warn", "whole_fit"]

_Of = TypeVar("_Of")


@dataclass(eq=False)
class _Fit:
    """A fit under way, and what it is to warn of when it is complete."""

    outer: _Fit | None = None
    is_muted: bool = False
    is_charged: bool = False
    waiting: list[tuple[str, type[Warning]]] = field(default_factory=list)


_CURRENT: ContextVar[_Fit | None] = ContextVar("the fit under way", default=None)
#: Texts that are kept in place of warnings, in the thread whose they are.
_HEARD: ContextVar[list[str] | None] = ContextVar("texts of warnings", default=None)
#: Whether a warning of this package passes, whatever other threads turn off.
_SPEAKS: ContextVar[bool] = ContextVar("warns", default=False)
#: What has turned off all warnings of a process, its other threads included, by its number.
_MUTED: dict[int, set[_Fit]] = {}


class _First:
    """Stand in a filter for a pattern of texts, and look at more than the text."""

    def match(self, text: str) -> bool:
        """Return whether a warning is turned off."""
        if _SPEAKS.get():
            return False
        texts, fit = _HEARD.get(), _CURRENT.get()
        if texts is not None:
            texts.append(text)
            return True
        return bool(_MUTED.get(os.getpid())) or (fit is not None and fit.is_muted)

    @property
    def pattern(self) -> str:
        """str : what stands for it where scikit-learn makes filters of workers like these."""
        return "" if self.match("") else "(?!)"

    def __reduce__(self) -> tuple[Any, ...]:
        return re.compile, (self.pattern,)


_FIRST = _First()
_FILTER: Any = ("ignore", _FIRST, Warning, None, 0)
_TIDIES = threading.Lock()


def warn(message: str, category: type[Warning], stacklevel: int = 2) -> None:
    """Warn now, or once the fit under way is complete, where it has been charged."""
    fit = _CURRENT.get()
    if fit is not None and fit.is_muted:
        return
    if fit is None or not fit.is_charged:
        try:
            _SPEAKS.set(True)
            warnings.warn(message, category, stacklevel=stacklevel + 1)
        finally:
            _SPEAKS.set(False)
    elif (message, category) not in fit.waiting:
        fit.waiting.append((message, category))


def note_charge() -> None:
    """Have warnings wait from now on, as the fit under way is charged."""
    fit = _CURRENT.get()
    while fit is not None:
        fit.is_charged, fit = True, fit.outer


def is_part() -> bool:
    """Return whether the fit under way is made by another one, which has a budget for it."""
    fit = _CURRENT.get()
    return fit is not None and fit.outer is not None


def whole_fit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `fit` that leaves a whole model, also where it warns, or what there was before."""
    @wraps(function)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        before, outer = dict(vars(self)), _CURRENT.get()
        fit = _Fit(outer) if outer is None else _Fit(outer, outer.is_muted, outer.is_charged)
        try:
            with _as(_CURRENT, fit):
                found = function(self, *args, **kwargs)
        except BaseException:
            # At once, as it may be interrupted again.
            self.__dict__ = before
            raise
        for message, category in fit.waiting:
            # Of what calls `fit`, behind the functions around this one.
            warn(message, category, stacklevel=4)
        return found
    return whole


@contextmanager
def muted() -> Iterator[None]:
    """Turn off all warnings inside, and in threads that may have been begun inside."""
    fit = _Fit(_CURRENT.get(), is_muted=True)
    others = _MUTED.setdefault(os.getpid(), set())
    _stand_first()
    with _as(_CURRENT, fit):
        try:
            others.add(fit)
            yield
        finally:
            others.discard(fit)


@contextmanager
def heard() -> Iterator[list[str]]:
    """Keep the texts of warnings of other packages inside, in place of these."""
    _stand_first()
    texts: list[str] = []
    with _as(_HEARD, texts):
        yield texts


def apart() -> Any:
    """Take fits inside for no parts of the fit under way."""
    return _as(_CURRENT, None)


@contextmanager
def _as(variable: ContextVar[_Of], value: _Of) -> Iterator[None]:
    before = variable.get()
    # Inside, as an interrupt may come once it is set.
    try:
        variable.set(value)
        yield
    finally:
        variable.set(before)


def _stand_first() -> None:
    """Have this package's filter before those that were added since."""
    filters: Any = warnings.filters
    if filters and filters[0] == _FILTER:
        return
    # Added before older ones go, as other threads look meanwhile.
    filters.insert(0, _FILTER)
    if _TIDIES.acquire(blocking=False):
        try:
            for place in range(len(filters) - 1, 0, -1):
                if filters[place] == _FILTER:
                    del filters[place]
        finally:
            _TIDIES.release()

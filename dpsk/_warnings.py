"""Fits are all or nothing: in what they leave on an estimator, and in what they warn of.

A fit that ends in an error leaves the estimator as it was. A warning that the caller turns into an
error costs nothing before a fit is charged. Once it is charged, warnings wait until its model is
complete, so that whoever pays for a model has one.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["apart", "is_part", "muted", "note_charge", "warn", "whole_fit"]


@dataclass(eq=False)
class _Fit:
    """A fit under way, and what it is to warn of when it is complete."""

    outer: _Fit | None = None
    is_muted: bool = False
    is_charged: bool = False
    waiting: list[tuple[str, type[Warning]]] = field(default_factory=list)


_CURRENT: ContextVar[_Fit | None] = ContextVar("the fit under way", default=None)


def warn(message: str, category: type[Warning], stacklevel: int = 2) -> None:
    """Warn now, or once the fit under way is complete, where it has been charged."""
    fit = _CURRENT.get()
    if fit is None or fit.is_muted or not fit.is_charged:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
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
            with _under_way(fit):
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
    """Hold back no warning inside, where the caller has turned them off."""
    with _under_way(_Fit(_CURRENT.get(), is_muted=True)):
        yield


@contextmanager
def apart() -> Iterator[None]:
    """Take fits inside for no parts of the fit under way."""
    with _under_way(None):
        yield


@contextmanager
def _under_way(fit: _Fit | None) -> Iterator[None]:
    token = _CURRENT.set(fit)
    try:
        yield
    finally:
        _CURRENT.reset(token)

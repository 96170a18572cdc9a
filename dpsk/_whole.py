"""Parts of a fitted whole, reached by identity: all of them state the certificate of the whole."""

from __future__ import annotations

import pickle
from collections import deque
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING

import joblib
import numpy as np

from dpsk._origin import contents_of
from dpsk._privacy.certificate import Certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["reachable", "state_as_whole"]

_PLAIN = {str, bytes, int, float, bool, complex, type(None), Certificate}
_CLOSED = (type, ModuleType, Certificate)


def state_as_whole(model: Any, certificate: Certificate, given: Any) -> None:
    """Have all parts of a model state the certificate of the whole that has fitted it.

    Theirs tell their share of the cost, and not that others were fitted beside them, or that
    they were chosen. What the caller gave, such as models fitted before, keeps its own, also
    where the clone of a step holds a copy of it.
    """
    before = [each for each in reachable(given) if _certificate(each) is not None]
    for each in list(reachable(model)):
        if _certificate(each) is not None and not any(
                each is other or _is_copy(each, other) for other in before):
            vars(each)["privacy_"] = certificate


def _certificate(value: Any) -> Certificate | None:
    """Return the certificate that an object has as a fitted one; None for others."""
    found = getattr(value, "__dict__", {}).get("privacy_")
    return found if isinstance(found, Certificate) else None


def _is_copy(value: Any, other: Any) -> bool:
    """Return whether two fitted objects are alike in all that they hold: no two fits are."""
    if type(value) is not type(other) or _certificate(value) != _certificate(other):
        return False
    try:
        return bool(joblib.hash(vars(value)) == joblib.hash(vars(other)))
    except (pickle.PicklingError, TypeError, AttributeError):
        return False


def reachable(value: Any) -> Iterator[Any]:
    """Yield everything that can be reached from an object, itself included, each once.

    Plain values are left out; classes and modules are not opened.
    """
    seen, left = {id(value): value}, [value]
    while left:
        each = left.pop()
        yield each
        for part in _parts(each):
            if id(part) not in seen and type(part) not in _PLAIN:
                # Held, so that its number stays its own.
                seen[id(part)] = part
                left.append(part)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, _CLOSED):
        return
    if isinstance(value, dict):
        yield from (*value, *value.values(), getattr(value, "default_factory", None))
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        yield from value
    elif isinstance(value, np.ndarray):
        yield from value.ravel() if value.dtype == object else ()
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, FunctionType):
        yield from contents_of(value)
    else:
        yield from getattr(value, "__dict__", {}).values()
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ())
            names = (slots,) if isinstance(slots, str) else slots
            yield from (getattr(value, name) for name in names
                        if name not in ("__dict__", "__weakref__") and hasattr(value, name))

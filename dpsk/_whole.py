"""Parts of a fitted whole, reached by identity: all of them state the certificate of the whole."""

from __future__ import annotations

import datetime
import gc
import pickle
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING
from weakref import ReferenceType

import joblib
import numpy as np

from dpsk._origin import contents_of, parts_of_dtype
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
    if isinstance(value, FunctionType):
        # Not the module whose names it sees.
        yield from (*contents_of(value), value.__defaults__, value.__kwdefaults__)
        return
    # The garbage collector knows what any container holds, compiled ones as well.
    yield from gc.get_referents(value)
    if isinstance(value, (np.ndarray, np.generic)):
        yield value.dtype
        if value.dtype.hasobject:
            yield value.tolist()
    elif isinstance(value, np.dtype):
        yield from parts_of_dtype(value)
    elif isinstance(value, (datetime.datetime, datetime.time)):
        yield value.tzinfo
    elif isinstance(value, ReferenceType):
        yield value()

"""Fitted parts of a model, found by identity, which all get the certificate of the model."""

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
    """Give all fitted parts of a model the certificate of the whole fit.

    Their own certificates cover their share of the cost only, without the other parts and without
    the selection among candidates. Fitted models that the caller passed in keep their own
    certificates, also as copies in the clone of a step.
    """
    before = [each for each in reachable(given) if _certificate(each) is not None]
    for each in list(reachable(model)):
        if _certificate(each) is not None and not any(
                each is other or _is_copy(each, other) for other in before):
            vars(each)["privacy_"] = certificate


def _certificate(value: Any) -> Certificate | None:
    """Return the certificate of a fitted object; None for other objects."""
    found = getattr(value, "__dict__", {}).get("privacy_")
    return found if isinstance(found, Certificate) else None


def _is_copy(value: Any, other: Any) -> bool:
    """Return whether two fitted objects hold equal contents, which two fits never do."""
    if type(value) is not type(other) or _certificate(value) != _certificate(other):
        return False
    try:
        return bool(joblib.hash(vars(value)) == joblib.hash(vars(other)))
    except (pickle.PicklingError, TypeError, AttributeError):
        return False


def reachable(value: Any) -> Iterator[Any]:
    """Yield every object that is reachable from an object once, the object itself included.

    Plain values are left out, and the contents of classes and modules as well.
    """
    seen, left = {id(value): value}, [value]
    while left:
        each = left.pop()
        yield each
        for part in _parts(each):
            if id(part) not in seen and type(part) not in _PLAIN:
                # Kept alive, so that its id is not reused.
                seen[id(part)] = part
                left.append(part)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, _CLOSED):
        return
    if isinstance(value, FunctionType):
        # Not the globals of its module.
        yield from (*contents_of(value), value.__defaults__, value.__kwdefaults__)
        return
    # The garbage collector knows the contents of all containers, also of compiled types.
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

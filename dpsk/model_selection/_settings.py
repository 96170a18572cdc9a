"""Text of an estimator's parameters, which keys the noise of a `NoiseSeed`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import joblib
import numpy as np
from sklearn.frozen import FrozenEstimator

if TYPE_CHECKING:
    from typing import Any

__all__ = ["settings_text"]

#: Types whose text determines the value.
_PLAIN = (bool, int, float, complex, str, bytes)
#: Seeds key noise separately; the other two do not change results.
_NO_SETTINGS = ("random_state", "verbose", "n_jobs")


def settings_text(estimator: Any) -> str:
    """Return the text of all parameters of an estimator and of its parts.

    Parameters
    ----------
    estimator : estimator

    Raises
    ------
    ValueError
        If the content of a parameter, which is named, cannot be determined, as for a lambda.
    """
    known = estimator.get_params(deep=False)
    return repr([(name, _text(known[name], name)) for name in sorted(known)
                 if name not in _NO_SETTINGS])


def _text(value, name):
    """Return a text that is unique to a value of the parameter `name`."""
    if value is None or type(value) in _PLAIN:
        return repr(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, (list, tuple)):
        return f"{kind}{[_text(each, _inside(name, value, each)) for each in value]}"
    if isinstance(value, dict):
        return f"{kind}{[(_text(key, name), _text(each, name)) for key, each in value.items()]}"
    if isinstance(value, (set, frozenset)):
        return f"{kind}{sorted(_text(each, name) for each in value)}"
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.hasobject:
            return f"{kind}{value.shape}{_text(value.tolist(), name)}"
        return f"{kind}{value.dtype.descr}{value.shape}{_digest(value)}"
    if all(hasattr(value, part) for part in ("dist", "args", "kwds")):
        # Frozen distributions hold a random generator, whose state is not a parameter.
        return f"{kind}{_text([value.dist, value.args, value.kwds], name)}"
    if hasattr(value, "_updated_ctor_param"):
        made = {**value._updated_ctor_param(), "seed": None}
        return f"{kind}{_text(made, name)}"
    if (hasattr(value, "get_params") and not isinstance(value, (type, FrozenEstimator))):
        known = value.get_params(deep=False)
        parts = {key: _text(known[key], f"{name}__{key}") for key in sorted(known)}
        return f"{kind}{parts}"
    return f"{kind}{_pickled(value, name)}"


def _inside(name, pair, value):
    """Return the prefix of the parameter names of a named part of an estimator."""
    named = isinstance(pair[0], str) and hasattr(value, "get_params")
    # The prefix of a step's parameters does not contain the name of the list.
    return "__".join([*name.split("__")[:-1], pair[0]]) if named else name


def _digest(array):
    """Return a digest of all bytes of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _pickled(value, name):
    """Return a digest of any other value; raise ValueError if it cannot be pickled.

    A function is identified by its name and module.
    """
    try:
        return joblib.hash(value)
    # Pickling a class of another package may raise anything.
    except Exception:
        raise ValueError(
            f"{name} of type {type(value).__name__}: what it holds cannot be told from what "
            "another one does, so a NoiseSeed might give both the same noise; use something that "
            "can be pickled, such as a function of a module, or another random_state.") from None

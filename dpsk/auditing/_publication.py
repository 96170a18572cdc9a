"""What a fitted estimator publishes, as numbers: its attributes and its answers on fixed rows."""

import zlib
from dataclasses import fields, is_dataclass

import numpy as np

from dpsk._privacy.certificate import Certificate

__all__ = ["Layout", "certificates", "published"]

#: The most entries that are read of one array, evenly spread.
_MOST = 2000
_ANSWERS = ("decision_function", "predict_proba", "transform", "predict")


def published(fitted, probes):
    """Return all that a fitted estimator publishes.

    Parameters
    ----------
    fitted : estimator
    probes : array-like of shape (n_probes, n_features)
        Public rows, on which it is asked.

    Returns
    -------
    values : dict of str to ndarray of float64, one-dimensional
        Fitted attributes, those of steps and members included, and answers; words are hashed.
    """
    found = {}
    for name, value in _leaves(fitted, ""):
        numbers = _numbers(value)
        if numbers is not None:
            found[name] = numbers
    scores = [method for method in _ANSWERS if hasattr(fitted, method)]
    # Labels and probabilities follow from scores, where there are any.
    for method in scores[:1]:
        found[f"{method}()"] = _numbers(getattr(fitted, method)(probes))
    return {name: value for name, value in found.items() if value is not None}


def certificates(fitted):
    """Return the certificates of a fitted estimator: its own, or those of its parts."""
    own = getattr(fitted, "privacy_", None)
    if isinstance(own, Certificate):
        return [own]
    return [found for _, part in _children(fitted) for found in certificates(part)]


def _leaves(value, name):
    """Yield (name, value) of all that is no container."""
    if isinstance(value, Certificate):
        return
    children = _children(value)
    if not children:
        yield name, value
    for key, child in children:
        yield from _leaves(child, f"{name}.{key}".lstrip("."))


def _children(value):
    """Return (key, value) of the parts of an estimator or a container; none of other things."""
    if isinstance(value, dict):
        # Times are no part of a model.
        return [(str(key), each) for key, each in value.items()
                if not str(key).endswith("_time")]
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return list(enumerate(value.ravel()))
    if hasattr(value, "get_params") and not isinstance(value, type):
        steps = getattr(value, "steps", [])
        return [*steps, *((key, each) for key, each in vars(value).items()
                          if key.endswith("_") and not key.startswith("_"))]
    if is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    return []


def _numbers(value):
    """Return a value as a vector of float64, words by their hashes; None of other things."""
    if isinstance(value, (str, bytes)):
        return np.array([_hash(value)])
    if hasattr(value, "toarray"):
        value = value.toarray()
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float)):
        if not hasattr(value, "__array__"):
            return None
        value = np.asarray(value)
    array = np.asarray(value).ravel()
    if len(array) > _MOST:
        array = array[np.linspace(0, len(array) - 1, _MOST).astype(int)]
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind in "OUS":
        return np.array([_hash(each) for each in array])
    return None


def _hash(value):
    return float(zlib.crc32(repr(value).encode()))


class Layout:
    """Where each published number stands in a row of a matrix; fixed by the first fits.

    Parameters
    ----------
    fits : list of dict
        As `published` returns them.

    Attributes
    ----------
    names : list of str
        Of the columns.
    """

    def __init__(self, fits):
        self._lengths = {}
        for fit in fits:
            for name, values in fit.items():
                self._lengths[name] = max(self._lengths.get(name, 0), len(values))
        self.names = [f"{name}[{i}]" if length > 1 else name
                      for name, length in self._lengths.items() for i in range(length)]
        self.names += [f"size of {name}" for name in self._lengths]

    def matrix(self, fits):
        """Return an ndarray of shape (n_fits, n_names); what is not there is NaN."""
        rows = np.full((len(fits), len(self.names)), np.nan)
        for row, fit in zip(rows, fits, strict=True):
            start = 0
            for name, length in self._lengths.items():
                values = fit.get(name, ())[:length]
                row[start:start + len(values)] = values
                start += length
            row[start:] = [len(fit.get(name, ())) for name in self._lengths]
        return rows

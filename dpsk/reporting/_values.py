"""Objects in the values of attributes that are not plain values, found by walking containers."""

import types

import numpy as np
from joblib import Memory
from sklearn.utils import Bunch

from dpsk.reporting._attributes import attributes
from dpsk.reporting._table import is_of, is_one_of, kind_of

__all__ = ["EXACT", "inside", "is_estimator"]

#: Types whose objects hold numbers, text or public randomness.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice,
          np.ufunc)
_MAPPINGS = (dict, Bunch, types.MappingProxyType)
_SEQUENCES = (list, tuple, set, frozenset)
#: Types of functions and classes, NumPy's functions of arrays among them.
_CODE = (type, types.FunctionType, types.BuiltinFunctionType, type(np.mean))
#: Packages whose functions make no private releases.
EXACT = ("sklearn", "numpy", "scipy", "builtins")
#: What functions and classes may be of.
_PACKAGES = (*EXACT, "dpsk")
#: Parts of packages whose objects hold entries, or public randomness.
_TABLES = ("scipy.sparse", "numpy.random")
#: Names of columns and dtypes, as pandas has them.
_NAMES = {"Index", "ExtensionDtype"}


def inside(value, path, seen, packages=_PACKAGES):
    """Yield what is in a value and is not plain, with its place.

    Parameters
    ----------
    value : object
    path : str
    seen : set of int
        Identities of what was looked at, which grows.
    packages : tuple of str
        What plain functions and classes may be of.

    Yields
    ------
    path : str
    found : object
        An estimator, a certificate, or whatever is not known to be plain.
    """
    if _is_plain(value, packages) or id(value) in seen:
        return
    seen.add(id(value))
    if is_one_of(type(value), _MAPPINGS):
        for name, each in attributes(value).items():
            yield from inside(each, f"{path}.{name}", seen, packages)
        for name, each in value.items():
            yield from inside(name, path, seen, packages)
            yield from inside(each, f"{path}[{name!r}]", seen, packages)
    elif is_one_of(type(value), _SEQUENCES) or (
            type(value) is np.ndarray and value.dtype == object):
        for place, each in enumerate(value.ravel() if isinstance(value, np.ndarray) else value):
            yield from inside(each, f"{path}[{place}]", seen, packages)
    elif _is_detail(value):
        for name, each in attributes(value).items():
            yield from inside(each, f"{path}.{name}", seen, packages)
    else:
        yield path, value


def is_estimator(thing):
    """Return whether an object, or a class, looks like an estimator."""
    return hasattr(thing, "fit") or hasattr(thing, "get_params")


def _is_plain(value, packages):
    """Return whether a value holds nothing but numbers, text and names of types."""
    cls = type(value)
    if is_one_of(cls, _PLAIN):
        return True
    if is_one_of(cls, (np.ndarray, np.memmap)):
        return not value.dtype.hasobject
    if isinstance(value, _CODE):
        return any(is_of(value, package) for package in packages)
    if isinstance(value, (np.generic, np.dtype)):
        return is_of(cls, "numpy")
    if is_of(cls, "pandas"):
        return bool(_NAMES & {base.__name__ for base in cls.__mro__})
    return cls is Memory or any(is_of(cls, package) for package in _TABLES)


def _is_detail(value):
    """Return whether an object is part of how scikit-learn is made, and no estimator."""
    return (is_of(type(value), "sklearn") and kind_of(type(value)) is None
            and not is_estimator(value))

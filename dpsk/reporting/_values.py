"""Search of containers for objects that are not plain values."""

import types
from collections import OrderedDict
from functools import cache, partial
from operator import attrgetter, itemgetter

import numpy as np
from scipy import special
from sklearn.utils import Bunch

from dpsk._kinds import is_one_of, kind_of
from dpsk._origin import holds_numbers, is_of, parts_of_dtype
from dpsk.reporting._attributes import attributes, own_names

__all__ = ["EXACT", "inside", "is_estimator"]

#: Types whose objects hold numbers, text or public randomness.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, attrgetter)
_MAPPINGS = (dict, OrderedDict, Bunch, types.MappingProxyType)
_SEQUENCES = (list, tuple, set, frozenset)
#: Types of functions and classes, NumPy's functions of arrays among them.
_CODE = (type, types.FunctionType, types.BuiltinFunctionType, type(np.mean))
#: Packages whose functions compute exact scores and fit nothing.
EXACT = ("sklearn.metrics", "sklearn.feature_selection", "numpy", "scipy")
#: Packages of known functions and classes.
_PACKAGES = ("sklearn", "numpy", "scipy", "builtins", "dpsk")
#: Packages whose objects hold nothing beyond their attributes: matrices, caches, distributions.
_DETAILS = ("scipy.sparse", "joblib", "scipy.stats._distn_infrastructure")
#: Packages of plain objects: public randomness, times and time zones, metadata requests.
_ATOMS = ("numpy.random", "datetime", "zoneinfo", "sklearn.utils._metadata_requests")
#: Modules of SciPy's distributions, whose objects all have the same attributes.
_LAWS = ("scipy.stats._continuous_distns", "scipy.stats._discrete_distns")
#: pandas' types of plain index entries.
_ENTRIES = {"NAType", "NaTType", "Timestamp", "Timedelta", "Period", "Interval"}
#: Flag of types from a class statement (Py_TPFLAGS_HEAPTYPE), which hold only attributes.
_WRITTEN = 1 << 9


def inside(value, path, seen, packages=_PACKAGES):
    """Yield (path, object) for everything in a value that is not plain.

    Parameters
    ----------
    value : object
    path : str
    seen : dict of int to object
        Objects seen so far, by identity; updated.
    packages : tuple of str
        Packages whose functions and classes count as plain.

    Yields
    ------
    path : str
    found : object
        An estimator, a certificate, or another object that is not known to be plain.
    """
    if id(value) in seen or _is_plain(value, packages):
        return
    # Keeping the object alive ensures that its identity is not reused.
    seen[id(value)] = value
    if _is_law(type(value)):
        yield from _set_on_law(value, path)
    elif type(value) is partial:
        yield from inside([value.func, value.args, value.keywords], path, seen, packages)
        yield from ((f"{path}.{name}", each) for name, each in attributes(value).items())
    elif is_one_of(type(value), _MAPPINGS):
        for name, each in attributes(value).items():
            yield from inside(each, f"{path}.{name}", seen, packages)
        for name, each in value.items():
            yield from inside(name, path, seen, packages)
            yield from inside(each, f"{path}[{name!r}]", seen, packages)
    elif is_one_of(type(value), _SEQUENCES):
        for place, each in enumerate(value):
            yield from inside(each, f"{path}[{place}]", seen, packages)
    elif (parts := _of_compiled(value)) is not None:
        yield from inside(parts, path, seen, packages)
    elif _is_of_pandas(value, "Index"):
        yield from inside([*value.names, *np.asarray(value, dtype=object).tolist()], path, seen,
                          packages)
        yield from _not_own(value, path)
    elif _is_detail(value):
        for name, each in attributes(value).items():
            yield from inside(each, f"{path}.{name}", seen, packages)
        yield from _not_own(value, path)
    else:
        yield path, value


def _of_compiled(value):
    """Return the parts of an object of a known compiled type; None for other types."""
    cls = type(value)
    if cls is slice:
        return [value.start, value.stop, value.step]
    if cls is itemgetter:
        return list(value.__reduce__()[1])
    if is_one_of(cls, (np.ndarray, np.void)):
        # The base of a view may hold entries that the view does not show.
        return [value.dtype, value.tolist() if value.dtype.hasobject else None,
                None if isinstance(value, np.void) else value.base]
    if isinstance(value, np.dtype) and is_of(cls, "numpy"):
        return parts_of_dtype(value)
    if is_of(cls, "numpy.random"):
        bits = getattr(value, "_bit_generator", None) or getattr(value, "bit_generator", None)
        return None if bits is None or is_of(type(bits), "numpy") else [bits]
    return None


def _not_own(value, path):
    """Yield attributes that the code of an object's class did not set."""
    # Compiled code of pandas keeps a cache of derived values.
    allowed = own_names(type(value)) | ({"_cache"} if is_of(type(value), "pandas") else set())
    for name, each in attributes(value).items():
        if name not in allowed:
            yield f"{path}.{name}", each


def is_estimator(thing):
    """Return whether an object, or a class, looks like an estimator."""
    return hasattr(thing, "fit") or hasattr(thing, "get_params")


def _is_plain(value, packages):
    """Return whether a value holds nothing but numbers, text and names of types."""
    cls = type(value)
    if is_one_of(cls, _PLAIN):
        return True
    if is_one_of(cls, (np.ndarray, np.memmap)):
        return holds_numbers(value.dtype) and (
            not isinstance(value.base, np.ndarray) or _is_plain(value.base, packages))
    if type(value) is np.ufunc:
        # Any other ufunc may wrap a user-defined function.
        return any(getattr(module, value.__name__, None) is value for module in (np, special))
    if type(value) is types.MethodDescriptorType:
        return is_of(value.__objclass__, "builtins")
    if isinstance(value, type) and is_of(value, "pandas"):
        return True
    if isinstance(value, _CODE):
        return any(is_of(value, package) for package in packages)
    if isinstance(value, (np.generic, np.dtype)):
        return is_of(cls, "numpy") and holds_numbers(np.dtype(getattr(value, "dtype", value)))
    if is_of(cls, "numpy.random"):
        return _of_compiled(value) is None
    if is_of(cls, "pandas"):
        return cls.__name__ in _ENTRIES
    return any(is_of(cls, package) for package in _ATOMS)


def _is_law(cls):
    """Return whether a class is a SciPy distribution whose objects need only a name."""
    return any(is_of(cls, package) for package in _LAWS) and _fresh(cls) is not None


@cache
def _fresh(cls):
    """Return a new SciPy distribution; None if it needs data, such as a histogram."""
    try:
        return cls(name="law")
    except TypeError:
        return None


def _set_on_law(law, path):
    """Yield added attributes and changed functions of a SciPy distribution."""
    usual = attributes(_fresh(type(law)))
    for name, value in attributes(law).items():
        code = _code(value)
        if name not in usual or (code is not None and code != _code(usual[name])):
            yield f"{path}.{name}", value


def _code(value):
    """Return the code of a (vectorized) function or method; None for others."""
    if isinstance(value, np.vectorize):
        value = value.pyfunc
    function = getattr(value, "__func__", value)
    return getattr(function, "__code__", function if callable(function) else None)


def _is_of_pandas(value, kind):
    """Return whether a value is a pandas object of a named class, such as "Index"."""
    return is_of(type(value), "pandas") and kind in {
        base.__name__ for base in type(value).__mro__}


def _is_detail(value):
    """Return whether an object, no estimator, holds only its attributes."""
    cls = type(value)
    known = is_of(cls, "sklearn") and kind_of(cls) is None and not is_estimator(value)
    known |= any(is_of(cls, package) for package in _DETAILS)
    # Compiled types, such as a KD-tree, may hold rows that their attributes do not show.
    return (known or _is_of_pandas(value, "ExtensionDtype")) and all(
        base is object or base.__flags__ & _WRITTEN for base in cls.__mro__)

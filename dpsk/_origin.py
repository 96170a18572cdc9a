"""Origin of classes and functions, by identity, because names are easily copied."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from functools import partial, partialmethod
from operator import is_
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

__all__ = ["contents_of", "holds_numbers", "home_of", "is_intact", "is_known_ufunc", "is_of",
           "is_only_added_to", "is_written", "module_of", "parts_of_dtype"]

#: Packages whose functions may be methods of classes of other packages.
_LENDERS = {"sklearn", "numpy", "scipy", "joblib", "dpsk", *sys.stdlib_module_names} - {"__main__"}
#: The method resolution order of a class, independent of its metaclass.
_bases: Any = type.__dict__["__mro__"].__get__
#: Classes that were found intact, with the attributes that they had then.
_INTACT: WeakKeyDictionary[type, tuple[bool, list[Any]]] = WeakKeyDictionary()
#: Flag of a type that was created by a class statement or an equivalent call.
_WRITTEN = 1 << 9


def is_of(thing: Any, package: str) -> bool:
    """Return whether a package or one of its modules has this class or function by its name."""
    module, full = (getattr(thing, each, None) for each in ("__module__", "__qualname__"))
    # A class may return a subclass of str with a false comparison.
    if not (type(module) is type(full) is str and f"{module}.".startswith(f"{package}.")):
        return False
    found: Any = sys.modules.get(module)
    for name in full.split("."):
        # Modules and classes may define `__getattr__` for other names.
        found = inspect.getattr_static(found, name, None)
    return found is thing


def holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype holds numbers or text, without metadata."""
    fields = list((dtype.fields or {}).values())
    parts = [each[0] for each in fields] + ([] if dtype.subdtype is None else [dtype.subdtype[0]])
    # The title of a field may be any object.
    titled = any(type(title) is not str for each in fields for title in each[2:])
    return not (dtype.hasobject or dtype.metadata or titled) and all(map(holds_numbers, parts))


def parts_of_dtype(dtype: np.dtype[Any]) -> list[Any]:
    """Return the parts of a dtype: metadata, dtypes of fields and entries, missing value."""
    return [dtype.metadata, dtype.subdtype, dtype.fields, getattr(dtype, "na_object", None)]


def is_written(cls: type) -> bool:
    """Return whether a type was created by a class statement or an equivalent call."""
    return bool(cls.__flags__ & _WRITTEN)


def home_of(function: FunctionType) -> ModuleType | None:
    """Return the module of a function's globals; None if this process has not imported it."""
    return module_of(function.__globals__)


def module_of(names: dict[str, Any]) -> ModuleType | None:
    """Return the module with these globals; None if this process has not imported it."""
    home = sys.modules.get(str(names.get("__name__")))
    return home if getattr(home, "__dict__", None) is names else None


def is_intact(cls: type) -> bool:
    """Return whether all methods of a class belong to its packages, so that none was replaced."""
    # Neither this package nor scikit-learn uses classes of the standard library or named tuples.
    bases = [] if issubclass(cls, tuple) else [
        each for each in _bases(cls) if _package(each.__module__) not in sys.stdlib_module_names]
    own = [each for base in bases for each in vars(base).values()]
    known, before = _INTACT.get(cls, (False, [None]))
    if len(own) != len(before) or not all(map(is_, own, before)):
        names = {base.__qualname__ for base in bases}
        known = _are_lent([*bases, *own], cls) and all(
            _is_named_in(each, names) for base in bases for each in vars(base).values())
        _INTACT[cls] = known, own
    return known


def is_only_added_to(cls: type) -> bool:
    """Return whether other packages have only added attributes to a class, and replaced none.

    Added ones come after the original ones in its dictionary, under names that no base has.
    """
    for base in _bases(cls)[:-1]:
        own = list(vars(base).items())
        while own and not _are_lent([own[-1][1]], cls):
            name, _ = own.pop()
            if any(name in vars(each) for each in _bases(cls) if each is not base):
                return False
        if not _are_lent([each for _, each in own], cls):
            return False
    return True


def _are_lent(values: list[Any], cls: type) -> bool:
    """Return whether attributes of a class come from its package or one of the allowed ones."""
    packages = _LENDERS | {_package(cls.__module__)}
    return all(_package_of(each) in packages for each in _methods(_inside(values)))


def _is_named_in(method: Any, names: set[str]) -> bool:
    """Return whether the class in a method's qualified name, if any, is one of `names`."""
    if isinstance(method, (classmethod, staticmethod)):
        method = method.__func__
    if not isinstance(method, FunctionType):
        return True
    of = method.__qualname__.rpartition(".")[0]
    return not of or of.endswith("<locals>") or of in names


def contents_of(function: FunctionType) -> Iterator[Any]:
    """Yield the contents of the closure of a function."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            # A cell that has no value yet.
            continue


def _methods(values: Iterable[Any]) -> list[Any]:
    """Return the functions, classes and instances in attributes of classes, wrapped ones too."""
    values, found, seen = [*values], [], set()
    while values:
        value = values.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        found.append(value)
        if isinstance(value, (classmethod, staticmethod, MethodType)):
            values += [value.__func__, getattr(value, "__self__", None)]
        elif isinstance(value, (partial, partialmethod)):
            values += [value.func, *filter(_is_code, (*value.args, *value.keywords.values()))]
        elif isinstance(value, property):
            values += [value.fget, value.fset, value.fdel]
        elif isinstance(value, FunctionType):
            values += filter(_is_code, _inside(contents_of(value)))
        elif not isinstance(value, type) and _package(type(value).__module__) != "scipy":
            # Such as `cached_property` and `available_if`. Distributions of scipy have generated
            # methods.
            values += filter(_is_code, _inside(getattr(value, "__dict__", {}).values()))
    return found


def _inside(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values, and the values in lists and mappings among them, such as registries."""
    for value in values:
        if isinstance(value, (list, tuple, Mapping)):
            yield from value.values() if isinstance(value, Mapping) else value
        yield value


def _is_code(value: Any) -> bool:
    return isinstance(value, (FunctionType, MethodType, partial, np.ufunc)) or (
        callable(value) and not isinstance(value, type)
        and _package(type(value).__module__) not in _LENDERS)


def _package_of(value: Any) -> str:
    """Return the package of a function's globals, or of a class, or of an instance's class."""
    if isinstance(value, FunctionType):
        home = home_of(value)
        return "" if home is None else _package(home.__name__)
    if isinstance(value, np.ufunc):
        # Any function can be made a ufunc.
        return "numpy" if is_known_ufunc(value) else ""
    kind = value if isinstance(value, type) else type(value)
    # Compiled functions have no globals; they name their module.
    is_compiled = _package(kind.__module__).startswith("_cython")
    return _package((value if is_compiled else kind).__module__)


def is_known_ufunc(value: np.ufunc) -> bool:
    """Return whether numpy or scipy has this ufunc by its name."""
    name = value.__name__
    return value is getattr(np, name, None) or value is getattr(special, name, None)


def _package(module: Any) -> str:
    return str(module).partition(".")[0]

"""Detection of code of unknown packages in a candidate."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from types import FunctionType, MethodType
from typing import TYPE_CHECKING
from weakref import ProxyTypes, ReferenceType

import numpy as np

from dpsk._origin import (
    home_of,
    is_intact,
    is_known_ufunc,
    is_of,
    is_only_added_to,
    is_written,
)
from dpsk._whole import reachable

if TYPE_CHECKING:
    from typing import Any

__all__ = ["holds_objects", "is_foreign", "runs_foreign_code"]

#: Packages that are known to make no private fits of their own accord.
_KNOWN = {"dpsk", "sklearn", "numpy", "scipy", "pandas", "polars", "pyarrow",
          *sys.stdlib_module_names} - {"__main__"}
_STANDARD = {os.path.realpath(sysconfig.get_path(name)) + os.sep
             for name in ("stdlib", "platstdlib")}


def runs_foreign_code(model: Any) -> bool:
    """Return whether a model holds classes or functions of unknown packages."""
    found = list(reachable(model))
    # scipy generates some methods when it creates a distribution.
    written = {id(part.__func__) for each in found if is_of(type(each), "scipy")
               for name, part in getattr(each, "__dict__", {}).items()
               if name.startswith("_parse_args") and isinstance(part, MethodType)}
    return any(is_foreign(each) for each in found if id(each) not in written)


def is_foreign(value: Any) -> bool:
    """Return whether a class, a function or an object's class is of an unknown package.

    A callable or iterator whose code cannot be inspected counts as of an unknown package.
    """
    if isinstance(value, FunctionType):
        # A function may borrow a name, but its globals are those of its own module.
        home = home_of(value)
        return home is None or not _is_known(home.__name__)
    if isinstance(value, np.ufunc):
        return not is_known_ufunc(value)
    if type(value) in ProxyTypes:
        # A weak proxy calls the object that it stands for.
        return True
    if type(value) is ReferenceType:
        # The object that it refers to is inspected as well.
        return False
    kind = value if isinstance(value, type) else type(value)
    if not _is_known(kind.__module__) or (
            is_written(kind) and not (is_of(kind, kind.__module__) and _is_as_written(kind))):
        return True
    shows = (hasattr(value, "__dict__") or isinstance(value, MethodType)
             or isinstance(inspect.getattr_static(kind, "__call__", None), FunctionType))
    draws = inspect.getattr_static(kind, "rvs", None)
    if draws is not None and not isinstance(draws, FunctionType):
        return True
    if shows or not (callable(value) or hasattr(kind, "__next__")):
        return False
    # Built-in functions name their module, as do those of third-party extensions.
    module = str(getattr(value, "__module__", None))
    return not (_is_known(module) and is_of(value, module))


def _is_as_written(kind: type) -> bool:
    """Return whether the methods of a known class are unmodified.

    Other packages may add methods to pandas classes; no known code calls them.
    """
    return is_intact(kind) or (is_of(kind, "pandas") and is_only_added_to(kind))


def _is_known(module: Any) -> bool:
    """Return whether a module name belongs to a known package."""
    if type(module) is not str or (name := module.partition(".")[0]) not in _KNOWN:
        return False
    if name not in sys.stdlib_module_names:
        return True
    # A file in a script's folder can shadow a module of the standard library.
    origin = getattr(getattr(sys.modules.get(name), "__spec__", None), "origin", None)
    return origin in ("built-in", "frozen") or (origin is not None and any(
        os.path.realpath(origin).startswith(folder) for folder in _STANDARD) and (
            "-packages" not in origin))


def holds_objects(rows: Any) -> bool:
    """Return whether entries of rows may be objects of any class, whose code may run.

    They cannot be in numeric arrays, in numeric sparse matrices, or in pandas tables whose columns
    are numeric or of pandas' own dtypes. The index and `attrs` of a table are checked as well.
    """
    if rows is None:
        return False
    if is_foreign(type(rows)):
        return True
    if isinstance(rows, np.ndarray) or is_of(type(rows), "scipy"):
        return bool(rows.dtype.hasobject)
    if not is_of(type(rows), "pandas") or not hasattr(rows, "iloc"):
        return True
    columns = [rows] if rows.ndim == 1 else [rows.iloc[:, i] for i in range(rows.shape[1])]
    # A dtype may hold a time zone, or a dtype of another package.
    types = {id(each.dtype): each.dtype for each in columns}
    if runs_foreign_code([rows.attrs, *rows.axes, *types.values()]):
        return True
    return any(not is_of(type(each.array), "pandas") or _is_of_objects(each.dtype)
               for each in columns)


def _is_of_objects(dtype: Any) -> bool:
    """Return whether a column of a dtype may hold objects of any class."""
    if isinstance(dtype, np.dtype):
        return dtype.hasobject
    categories = getattr(dtype, "categories", None)
    inner = getattr(dtype, "subtype", None) if categories is None else categories.dtype
    return not is_of(type(dtype), "pandas") or (inner is not None and _is_of_objects(inner))

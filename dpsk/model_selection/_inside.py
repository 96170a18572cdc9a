"""Code of other packages in a candidate."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from dpsk._whole import reachable

if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_foreign", "runs_foreign_code"]

#: Packages of which it is known that they make no private fits by themselves.
_KNOWN = {"dpsk", "sklearn", "numpy", "scipy", "pandas", "polars", *sys.stdlib_module_names} - {
    "__main__"}


def runs_foreign_code(model: Any) -> bool:
    """Return whether a model has classes or functions of other packages, which may do anything."""
    return any(map(is_foreign, reachable(model)))


def is_foreign(value: Any) -> bool:
    """Return whether a class, a function, or the class of an object is of another package."""
    if isinstance(value, np.ufunc):
        # Anybody can make one of any function.
        name = value.__name__
        return value is not getattr(np, name, None) and value is not getattr(special, name, None)
    of = value if isinstance(value, (FunctionType, type)) else type(value)
    return (of.__module__ or "").partition(".")[0] not in _KNOWN

"""Where a class or a function is from: by identity, as names are easily borrowed."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FunctionType, ModuleType
    from typing import Any

__all__ = ["home_of", "is_of", "is_written"]

#: Flag of a type that a class statement made, or that is made like one.
_WRITTEN = 1 << 9


def is_of(thing: Any, package: str) -> bool:
    """Return whether a class or function is what a package, or a part of one, has by its name."""
    module, full = (getattr(thing, each, None) for each in ("__module__", "__qualname__"))
    # A class may answer with strings of its own that say what they are not.
    if not (type(module) is type(full) is str and f"{module}.".startswith(f"{package}.")):
        return False
    found: Any = sys.modules.get(module)
    for name in full.split("."):
        # Modules and classes may answer for names that they do not have.
        found = inspect.getattr_static(found, name, None)
    return found is thing


def is_written(cls: type) -> bool:
    """Return whether a class statement made a type, or something that does the same."""
    return bool(cls.__flags__ & _WRITTEN)


def home_of(function: FunctionType) -> ModuleType | None:
    """Return the module whose names a function sees; None where it is none of the process."""
    home = sys.modules.get(str(function.__globals__.get("__name__")))
    return home if home is not None and vars(home) is function.__globals__ else None

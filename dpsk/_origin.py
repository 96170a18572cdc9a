"""What package a class or a function is of: by identity, as names are easily borrowed."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_of"]


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

"""What is public, by the package's own registries: objects, their methods, pages of them."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import dpsk

ROOT = Path(__file__).parent.parent
#: Modules without an underscore that offer names; `dpsk.audit` and `dpsk.verify` are commands.
MODULES = {each.name: importlib.import_module(f"dpsk.{each.name}")
           for each in pkgutil.iter_modules(dpsk.__path__) if not each.name.startswith("_")}
MODULES = {name: module for name, module in MODULES.items() if name not in ("audit", "verify")}


def public_objects():
    """Return every public object by the name that it is imported by, the shortest there is."""
    found = {f"dpsk.{name}": getattr(dpsk, name) for name in dpsk.__all__ if name[0] != "_"}
    for place, module in sorted(MODULES.items()):
        for name in module.__all__:
            if getattr(dpsk, name, None) is not getattr(module, name):
                found[f"dpsk.{place}.{name}"] = getattr(module, name)
    return found


def _function(member):
    """Return the function behind an entry of a class."""
    for name in ("__func__", "fget", "func", "fn"):
        member = getattr(member, name, member)
    return inspect.unwrap(member) if callable(member) else member


def own_members(cls):
    """Return the public methods and properties that are ours, by the name of where each is told.

    A method without a docstring has that of what it overrides.
    """
    found = {}
    for name in dir(cls):
        kinds = [kind for kind in cls.__mro__ if name in vars(kind)]
        told = [kind for kind in kinds
                if getattr(_function(vars(kind)[name]), "__doc__", None)] or kinds
        if not name.startswith("_") and told and told[0].__module__.startswith("dpsk."):
            member = _function(vars(told[0])[name])
            if inspect.isfunction(member):
                found[f"{told[0].__module__}.{told[0].__qualname__}.{name}"] = vars(told[0])[name]
    return found


def listed(page):
    """Return the names that the tables of a page of the reference list."""
    text = (ROOT / "docs" / "api" / page).read_text(encoding="utf-8")
    return re.findall(r"^   ~(dpsk\.[\w.]+)$", text, re.MULTILINE)

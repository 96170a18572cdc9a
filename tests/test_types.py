"""Every public function and method says what it takes and returns, and mypy holds it to that."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

import dpsk
from tests.loops import in_a_row

_ROOT = Path(dpsk.__file__).parent.parent
_MODULES = [dpsk, *(importlib.import_module(f"dpsk.{info.name}")
                    for info in pkgutil.iter_modules(dpsk.__path__)
                    if not info.name.startswith("_"))]


def _function(value):
    """Return the function that a member of a class stands for, or None."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    elif type(value).__name__ == "_AvailableIfDescriptor":
        value = value.fn
    value = inspect.unwrap(value) if callable(value) else value
    return value if inspect.isfunction(value) else None


def _public():
    """Return the functions of the package that users call, by name, inherited ones included."""
    found = {}
    for thing in (getattr(module, name) for module in _MODULES
                  for name in getattr(module, "__all__", ())):
        if not inspect.isclass(thing):
            if (function := _function(thing)) is not None:
                found[f"{function.__module__}.{function.__qualname__}"] = function
            continue
        for owner in thing.__mro__:
            for name, value in vars(owner).items():
                function = _function(value)
                # Those that dataclasses make are of no module of the package's source.
                if function is None or not function.__module__.startswith("dpsk") or (
                        name.startswith("_") and name != "__init__"):
                    continue
                found[f"{function.__module__}.{function.__qualname__}"] = function
    return found


every_public_function = in_a_row("function", list(_public().values()))


@every_public_function
def test_public_functions_are_annotated(function):
    signature = inspect.signature(function)
    missing = [name for name, each in signature.parameters.items()
               if each.annotation is inspect.Parameter.empty and name not in ("self", "cls")]
    assert not missing
    assert signature.return_annotation is not inspect.Signature.empty


def test_the_package_says_that_it_is_typed():
    assert (_ROOT / "dpsk" / "py.typed").is_file()


@pytest.mark.audit
def test_mypy_finds_nothing():
    pytest.importorskip("mypy", reason="make types installs it")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=_ROOT, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout

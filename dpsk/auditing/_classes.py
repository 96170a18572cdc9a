"""What a fit may leave on classes: attributes, and methods with all that these hold."""

import pickle
import sys
import types

from dpsk._origin import contents_of, is_intact, is_of, is_written

__all__ = ["may_keep", "of_classes", "of_methods"]

#: Packages whose classes, those of estimators left out, no fit writes to.
_INSTALLED = {*sys.stdlib_module_names, "numpy", "scipy", "sklearn", "pandas", "dpsk"}
#: Of what they are made of nothing is written by a fit.
_OF_PYTHON = (types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType,
              types.ClassMethodDescriptorType, types.WrapperDescriptorType, type)


def may_keep(cls):
    """Return whether a fit may write to a class: to one of an estimator, or of no known package.
    """
    return hasattr(cls, "get_params") or (is_written(cls) and not _is_installed(cls))


def _is_installed(cls):
    package = str(cls.__module__).partition(".")[0]
    return package in _INSTALLED and is_of(cls, str(cls.__module__))


def of_classes(cls):
    """Return pickles of what classes hold beside their methods: a fit may write there."""
    for each in cls.__mro__[:-1]:
        held = {name: part for name, part in vars(each).items()
                if not hasattr(part, "__get__") and (
                    not name.startswith("__") or name == "__doc__")}
        for parts in (held, *({name: part} for name, part in held.items())):
            try:
                yield f"{each.__qualname__}.{next(iter(parts), '')}", pickle.dumps(parts)
            except Exception:
                # One that has no pickle hides no other.
                continue
            if parts is held:
                break


def of_methods(cls):
    """Return [(name, part)] of what the methods of a class hold, and of those that it was given.

    Of a method that stands where its class statement wrote it, that is all but its code.
    """
    found: list = []
    if _is_installed(cls) and is_intact(cls):
        return found
    for each in cls.__mro__[:-1]:
        if _is_installed(each) and is_intact(each):
            continue
        for name, part in vars(each).items():
            if hasattr(part, "__get__") and not isinstance(part, _OF_PYTHON):
                found += ((f"{each.__qualname__}.{name}", held)
                          for held in _held(part, f"{each.__qualname__}.{name}"))
    return found


def _held(method, name):
    """Yield what a method or another descriptor holds; itself where no class statement wrote it.
    """
    if isinstance(method, classmethod | staticmethod):
        yield from _held(method.__func__, name)
    elif isinstance(method, property):
        for function in (method.fget, method.fset, method.fdel):
            if function is not None:
                yield from _held(function, name)
    elif not isinstance(method, types.FunctionType) or method.__qualname__ != name:
        yield method
    else:
        yield from filter(None, (method.__defaults__, method.__kwdefaults__, vars(method)))
        yield from contents_of(method)

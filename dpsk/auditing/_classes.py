"""Traces that a fit leaves on classes: attributes, methods and their contents."""

import pickle
import sys
import types

from dpsk._origin import contents_of, is_intact, is_of, is_written

__all__ = ["may_keep", "of_classes", "of_methods"]

#: Packages whose classes a fit does not write to, apart from estimator classes.
_INSTALLED = {*sys.stdlib_module_names, "numpy", "scipy", "sklearn", "pandas", "dpsk"}
#: Types of class attributes that Python makes and to which a fit cannot write.
_OF_PYTHON = (types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType,
              types.ClassMethodDescriptorType, types.WrapperDescriptorType, type)
#: Names that Python itself writes on every class (some at the first pickle), and names that a
#: static or class method copies from its function.
_WRITTEN = {"__module__", "__qualname__", "__slots__", "__firstlineno__", "__static_attributes__",
            "__abstractmethods__", "__parameters__", "__orig_bases__", "__match_args__",
            "__annotate_func__", "__annotations_cache__", "_abc_impl", "__classcell__",
            "__slotnames__"}
_COPIED = {"__module__", "__name__", "__qualname__", "__doc__", "__wrapped__",
           "__annotations__", "__isabstractmethod__"}


def may_keep(cls):
    """Return whether a fit may write to a class: an estimator's, or an unknown one."""
    return hasattr(cls, "get_params") or (is_written(cls) and not _is_installed(cls))


def _is_installed(cls):
    package = str(cls.__module__).partition(".")[0]
    return package in _INSTALLED and is_of(cls, str(cls.__module__))


def of_classes(cls):
    """Yield (name, pickle) of the attributes of classes other than methods."""
    for each in cls.__mro__[:-1]:
        held = _beside_methods(each)
        for parts in (held, *({name: part} for name, part in held.items())):
            if (found := _pickled(parts)) is not None:
                yield f"{each.__qualname__}.{next(iter(parts), '')}", found
                if parts is held:
                    break


def of_methods(cls):
    """Return [(name, part)] of the state that the methods of a class hold.

    For a method from the class statement, this is everything but its code; a method that was
    assigned later is returned whole. Class attributes that are classes or cannot be pickled are
    returned as well.
    """
    found: list = []
    if _is_installed(cls) and is_intact(cls):
        return found
    for each in cls.__mro__[:-1]:
        if _is_installed(each) and is_intact(each):
            continue
        held = _beside_methods(each)
        found += ((f"{each.__qualname__}.{name}", part) for name, part in held.items()
                  if isinstance(part, type))
        if _pickled(held) is None:
            found += ((f"{each.__qualname__}.{name}", part) for name, part in held.items()
                      if _pickled({name: part}) is None)
        for name, part in vars(each).items():
            if hasattr(part, "__get__") and not isinstance(part, _OF_PYTHON):
                found += ((f"{each.__qualname__}.{name}", own)
                          for own in _held(part, f"{each.__qualname__}.{name}"))
    return found


def _beside_methods(cls):
    return {name: part for name, part in vars(cls).items()
            if not hasattr(part, "__get__") and name not in _WRITTEN}


def _pickled(parts):
    try:
        return pickle.dumps(parts)
    except Exception:
        return None


def _held(method, name):
    """Yield the state of a method; the whole if no class statement wrote it."""
    if isinstance(method, classmethod | staticmethod):
        yield {key: part for key, part in vars(method).items() if key not in _COPIED}
        yield from _held(method.__func__, name)
    elif isinstance(method, property):
        yield method.__doc__
        for function in filter(None, (method.fget, method.fset, method.fdel)):
            yield from _held(function, name)
    elif not isinstance(method, types.FunctionType) or method.__qualname__ != name:
        yield method
    else:
        yield method.__doc__, method.__name__, method.__annotations__
        yield from filter(None, (method.__defaults__, method.__kwdefaults__, vars(method)))
        yield from contents_of(method)

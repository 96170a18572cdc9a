"""Walk through everything inside an object: attributes, items and hidden state."""

import contextvars
import functools
import gc
import pickle
import sys
import threading
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Mapping

import numpy as np

from dpsk._origin import holds_numbers, home_of, is_of, is_written
from dpsk.auditing._arrow import is_cut
from dpsk.auditing._classes import may_keep, of_classes, of_methods

__all__ = ["Opaque", "Unread", "attributes", "is_estimator", "leaves"]

#: Maximum number of objects opened in one fit; the hash of its pickle stands for the rest.
_NODES = 20_000
_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
_PLAIN = (str, bytes, bytearray, complex, type(None), np.generic, *_NUMBERS)
#: Attributes of classes and modules that belong to the process, not to a fit.
_OF_THE_PROCESS = {"__dict__", "__weakref__", "_abc_impl", "__builtins__", "__loader__",
                   "__spec__"}
_KINDS = "biufcUSmM"
_LOCKS = (type(threading.Lock()), type(threading.RLock()))
_CACHE = type(functools.lru_cache(len))
_BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)
#: Python's own descriptors: methods, and slots, which `attributes` reads.
_DESCRIPTORS = (types.FunctionType, classmethod, staticmethod, types.MemberDescriptorType,
                types.GetSetDescriptorType, types.MethodDescriptorType,
                types.ClassMethodDescriptorType, types.WrapperDescriptorType)
#: Attributes of a function that are read, and those of its code; constants are read separately.
_SAID = ("__doc__", "__name__", "__qualname__", "__module__")
_OF_CODE = tuple(name for name, each in vars(types.CodeType).items() if name.startswith("co_")
                 and isinstance(each, types.GetSetDescriptorType | types.MemberDescriptorType)
                 and name not in ("co_consts", "co_lnotab"))
#: Internal attributes of pandas objects, which are skipped because their cells are read.
_OF_TABLES = {"_mgr", "_item_cache", "_is_copy", "_attrs", "_flags", "_cache", "_name", "_index"}
#: scikit-learn's names for the durations of fits and scores, which are not part of a model.
_TIMES = ("fit_time", "fit_time_", "score_time", "score_time_")


class Opaque:
    """Stand for a value of which only the name of its type is read.

    Parameters
    ----------
    value : object
    """

    def __init__(self, value):
        self.value = value
        named = value if isinstance(value, type | types.ModuleType) else type(value)
        self.name = f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"


class Unread:
    """Stand for objects beyond the maximum, or whose contents cannot be seen."""


def leaves(value, name, keys=None):
    """Yield (name, leaf) for everything inside an object, each object once.

    Parameters
    ----------
    value : object
    name : str
        Name of the value; the names of its parts follow after a dot.
    keys : set of str or None, default=None
        Keys that name the values of mappings; values under other keys are named by position.
        None: all keys name their values.

    Yields
    ------
    name : str
    leaf : str, bytes, number, None, ndarray, Opaque or Unread
        Arrays have plain dtypes.
    """
    # Keeping the objects alive ensures that no identity is reused.
    seen, bases, opened, waiting, answers = {}, {}, 0, [(name, value)], []
    while (waiting or answers) and opened < _NODES:
        # A property may return a new estimator at each call, endlessly: properties of returned
        # values are not read, and stored values come first.
        is_held = bool(waiting)
        name, value = waiting.pop() if is_held else answers.pop()
        leaf = _leaf(value)
        if leaf is not None:
            yield name, leaf[0]
        found = waiting if is_held else answers
        for kind in _classes_of(value, leaf is None):
            if id(kind) not in seen:
                seen[id(kind)] = kind
                yield from of_classes(kind)
                found.extend(of_methods(kind))
        for base in _base(value):
            if id(base) not in bases:
                bases[id(base)] = base
                found.append((f"{name}.base", base))
        if id(value) in seen or (leaf is not None and not _is_of_a_class(value)):
            continue
        seen[id(value)] = value
        opened += 1
        if leaf is not None:
            # A number or string of a user-defined class may have attributes.
            found.extend((f"{name}.{key}", part) for key, part in attributes(value))
            continue
        yield name, Opaque(value)
        found.extend((f"{name}.{key}".lstrip("."), part)
                     for key, part in reversed(_parts(value, keys)))
        if is_held and is_estimator(value):
            answers.extend((f"{name}.{key}".lstrip("."), part)
                           for key, part in reversed(_properties(value)))
    # Unopened objects may include attributes of the estimator itself, which wait longest.
    for name, value in (waiting + answers)[:_NODES]:
        leaf = _leaf(value)
        if leaf is not None:
            yield name, leaf[0]
    if waiting or answers:
        yield f"objects after the first {_NODES}", Unread()


def _classes_of(value, opens):
    """Return the classes of a value to which a fit may write.

    For an opened value these are its type and metaclass; for a class that is not opened, the
    class itself and its metaclass.
    """
    kinds = [value, type(value)] if isinstance(value, type) and not opens else (
        [type(value), type(type(value))] if opens else [])
    return [each for each in kinds if may_keep(each)]


def is_estimator(value):
    """Return whether a value is an estimator, and not an estimator class."""
    return _has(value, "get_params") and not isinstance(value, type)


def _has(value, name):
    """Return whether a value has an attribute; any error counts as no."""
    try:
        return hasattr(value, name)
    except Exception:
        return False


def _leaf(value):
    """Return (leaf,) for a value without parts; None for a value that has parts."""
    if isinstance(value, _PLAIN) and not isinstance(value, np.void):
        return (value,)
    if isinstance(value, Unread):
        return (value,)
    if isinstance(value, _LOCKS):
        # The repr of a lock begins with whether it is locked.
        return (repr(value).partition(" ")[0],)
    if _is_shared(value) or (
            isinstance(value, types.FrameType) and _is_running(value)):
        return (Opaque(value),)
    if type(value) in (list, tuple) and value:
        # Lists of numbers or of strings are read as one array.
        for kinds in (_NUMBERS, str):
            if all(isinstance(each, kinds) and not _is_of_a_class(each) for each in value):
                return (np.asarray(value),) if _fits_an_array(value) else None
    if type(value) is np.ndarray and value.dtype.kind in _KINDS and holds_numbers(value.dtype):
        return (value,)
    return None


def _is_running(frame):
    """Return whether a frame belongs to the audit's own call stack, not to a fit."""
    here = sys._getframe()
    while here is not None and here is not frame:
        here = here.f_back
    return here is frame


def _is_shared(value):
    """Return whether a class or module is an importable one, which a fit did not make."""
    if isinstance(value, types.ModuleType):
        return sys.modules.get(value.__name__) is value
    return isinstance(value, type) and is_of(value, str(value.__module__))


def _is_of_a_class(value):
    """Return whether a plain value is of a user-defined class with attributes."""
    return isinstance(value, _PLAIN) and is_written(type(value))


def _fits_an_array(values):
    return not any(isinstance(each, int) and abs(each) >= 2**63 for each in values)


def _parts(value, keys):
    """Return the parts of a value, as [(key, part)]."""
    if isinstance(value, np.ndarray | np.void):
        return [*_of_array(np.asarray(value)), *attributes(value)]
    if isinstance(value, Mapping):
        return [*_of_mapping(value, keys), *attributes(value)]
    if isinstance(value, set | frozenset):
        return [*enumerate(sorted(value, key=_order)), *attributes(value)]
    if isinstance(value, list | tuple | deque):
        return [*_named(value), *attributes(value)]
    if isinstance(value, weakref.ref):
        return [("()", value()), ("callback", value.__callback__), *attributes(value)]
    if isinstance(value, weakref.finalize):
        return [("call", value.peek())]
    if isinstance(value, contextvars.ContextVar):
        return [("value", _tried(value.get))]
    if isinstance(value, _CACHE):
        # It may hold all earlier fits.
        held = [("cache", Unread())] if value.cache_info().currsize else []
        return [*held, *attributes(value)]
    if isinstance(value, types.FrameType):
        return [("locals", dict(value.f_locals))]
    if isinstance(value, types.TracebackType):
        return [("locals", dict(value.tb_frame.f_locals)), ("next", value.tb_next)]
    if isinstance(value, types.FunctionType):
        return _of_function(value)
    if isinstance(value, types.CodeType):
        return [("constants", value.co_consts), ("code", _said(value, _OF_CODE))]
    if isinstance(value, type | types.ModuleType):
        return [each for each in vars(value).items() if each[0] not in _OF_THE_PROCESS
                and not isinstance(each[1], types.GetSetDescriptorType)]
    if isinstance(value, types.GeneratorType | types.CoroutineType):
        frame = getattr(value, "gi_frame", None) or getattr(value, "cr_frame", None)
        return [] if frame is None else list(frame.f_locals.items())
    if isinstance(value, _BOUND):
        return [("name", value.__name__), ("self", value.__self__),
                ("function", getattr(value, "__func__", None))]
    if _has(value, "to_numpy") and _has(value, "__array__"):
        return _of_table(value)
    return _of_instance(value)


def _of_table(value):
    """Return cells, index, attributes and pickle of a frame or column."""
    asked = {"array": lambda: value}
    if getattr(value, "columns", None) is not None:
        asked = {str(name): lambda name=name: value[name] for name in value.columns}
    asked["index"] = lambda: value.index
    held = [each for each in attributes(value) if each[0] not in _OF_TABLES]
    cut = [(f"buffers of {name}", Unread()) for name, ask in asked.items() if is_cut(_tried(ask))]
    return [*((name, _tried(lambda ask=ask: np.asarray(ask()))) for name, ask in asked.items()),
            ("attrs", getattr(value, "attrs", None)), *held, *cut,
            ("pickle", _tried(lambda: pickle.dumps(value)))]


def _of_array(array):
    notes = array.dtype.metadata
    kept = [("notes", dict(notes))] if notes else []
    if array.dtype.names:
        titles = [each[2] for each in array.dtype.fields.values() if len(each) > 2]
        fields = [(field, np.ascontiguousarray(array[field])) for field in array.dtype.names]
        return [*kept, ("titles", titles), *fields]
    if array.dtype.kind == "V":
        return [*kept, ("bytes", array.tobytes())]
    if array.dtype.kind not in _KINDS:
        return [*kept, ("shape", array.shape), ("items", array.ravel().tolist())]
    # A plain ndarray, without dtype metadata.
    return [*kept, ("entries", array.astype(array.dtype.str))]


def _of_mapping(value, keys):
    """Return keys and values; keys that do not serve as names are read as values."""
    found = list(value.items())
    made = [("default_factory", value.default_factory)] if isinstance(value, defaultdict) else []
    if all(isinstance(key, str) and not _is_of_a_class(key) for key, _ in found) and (
            len(found) < 1000):
        return [*made, ("order of keys", "\n".join(key for key, _ in found)), *(
            (key if keys is None or key in keys else place, part)
            for place, (key, part) in enumerate(found) if not key.endswith(_TIMES))]
    return [*made, ("keys", [key for key, _ in found]), ("values", [part for _, part in found])]


def _named(values):
    """Return items by position, but (name, estimator) pairs by name."""
    return [(part[0], part[1]) if isinstance(part, tuple) and len(part) == 2
            and isinstance(part[0], str) and is_estimator(part[1]) else (place, part)
            for place, part in enumerate(values)]


def _order(value):
    """Return a sort key for items of a set that does not depend on addresses."""
    plain = isinstance(value, (*_PLAIN, tuple))
    return type(value).__qualname__, repr(value) if plain else ""


def _of_function(function):
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            cells[name] = None
    found = [("closure", cells), ("defaults", function.__defaults__),
             ("keywords", function.__kwdefaults__), ("attributes", vars(function)),
             ("code", function.__code__),
             ("annotations", _tried(lambda: function.__annotations__)),
             ("names", _said(function, _SAID))]
    if home_of(function) is None:
        # The function is of no known module: a fit may have made its globals.
        found.append(("globals", {name: function.__globals__[name] for name in
                                  sorted(_names(function.__code__))
                                  if name in function.__globals__}))
    return found


def _said(value, names):
    """Return a pickle of the named attributes of a value."""
    return _tried(lambda: pickle.dumps([getattr(value, name) for name in names]))


def _names(code):
    """Return the global names that code and the functions in it may use."""
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _of_instance(value):
    """Return attributes, array forms, pickled state and garbage-collector referents."""
    found = attributes(value)
    if isinstance(value, BaseException):
        found += [("traceback", value.__traceback__), ("cause", value.__cause__),
                  ("context", value.__context__)]
    if is_estimator(value):
        steps = dict(found).get("steps")
        if isinstance(steps, list):
            found = [*_named(steps), *(each for each in found if each[0] != "steps")]
    if _has(value, "toarray") and np.prod(getattr(value, "shape", (0,))) < 2000:
        found.append(("toarray()", _tried(value.toarray)))
    if _has(value, "__array__"):
        found.append(("array", _tried(lambda: np.asarray(value))))
    own = type(value).__reduce__ is not object.__reduce__ or (
        type(value).__reduce_ex__ is not object.__reduce_ex__)
    state = _pickled(value) if own or not found else None
    found += state or []
    if (state is None and (own or not found)) or not is_written(type(value)):
        # Objects of compiled types may hold more than their attributes show.
        found += enumerate(each for each in gc.get_referents(value) if each is not type(value))
    # An object without any of these shows itself only through its methods.
    return found or [("content", Unread())]


def attributes(value):
    """Return the instance attributes of an object, from its dictionary and its slots."""
    found = list(getattr(value, "__dict__", {}).items())
    for cls in type(value).__mro__:
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            name = f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and (
                not name.endswith("__")) else name
            if name not in ("__dict__", "__weakref__") and _has(value, name):
                found.append((name, getattr(value, name)))
    return [(name, part) for name, part in found if not name.endswith(_TIMES)]


def _base(value):
    """Return [base] of a view, which keeps its whole base array in memory; else []."""
    base = getattr(value, "base", None) if isinstance(value, np.ndarray) else None
    # Views by `as_strided` have a wrapper as base, which holds the array.
    base = getattr(base, "base", base) if not isinstance(base, np.ndarray) else base
    return [] if base is None else [base.tobytes() if isinstance(base, memoryview) else base]


def _properties(value):
    """Return the values, or errors, of properties and other non-method descriptors."""
    names = {name for cls in type(value).__mro__[:-1] for name, each in vars(cls).items()
             if hasattr(type(each), "__get__") and not isinstance(each, _DESCRIPTORS)
             and not name.startswith("__")}
    found = [(name, _tried(lambda name=name: getattr(value, name))) for name in sorted(names)]
    return [(name, part) for name, part in found
            if not isinstance(part, (types.FunctionType, *_BOUND))]


def _tried(ask):
    """Return the result of a call, or a string with the type of its error."""
    try:
        return ask()
    except Exception as error:
        return f"{type(error).__qualname__} was raised"


def _pickled(value):
    """Return the parts from which pickle would rebuild a value; None if it cannot."""
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:
        return None
    if not isinstance(reduced, tuple):
        return None
    made, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    found = [("made by", made), ("arguments", arguments), ("state", state)]
    found += [("items", list(items))] if items is not None else []
    return found + ([("pairs", list(pairs))] if pairs is not None else [])

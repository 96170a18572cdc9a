"""Attributes of an object, and the attributes that the code of its class sets."""

import dis
import inspect
from functools import cache, cached_property
from numbers import Real
from types import CodeType

import numpy as np

from dpsk._estimator import DPEstimator
from dpsk._origin import is_of
from dpsk._stages.base import Stage

__all__ = ["attributes", "is_own", "is_template", "own_names", "parameters"]


def _is_number(value):
    return value is None or isinstance(value, Real)


def _are_names(value):
    return type(value) is np.ndarray and value.ndim == 1 and all(
        type(each) is str for each in value.tolist())


def _are_words(value):
    return type(value) is dict and all(each is None or type(each) is str
                                       for pair in value.items() for each in pair)


def _are_identifiers(value):
    return type(value) is tuple and all(
        type(each) is str and each.isidentifier() for each in value)


def _is_list_of_objects(value):
    return type(value) is list and all(_is_of_known_code(each) for each in value)


def _is_of_known_code(value):
    return any(is_of(type(value), package) for package in ("sklearn", "dpsk"))


#: Attributes that scikit-learn or this package sets on estimators from outside their classes,
#: each with a check of its value.
_SET_ELSEWHERE = {
    "n_features_in_": _is_number, "feature_names_in_": _are_names,
    "_sklearn_output_config": _are_words, "_metadata_request": _is_of_known_code,
    "_skl_callbacks": _is_list_of_objects, "_parent_callback_ctx": _is_of_known_code,
    "_carried": _is_of_known_code, "_implied_norm": _is_number, "row_norm_": _is_number,
    "_fitted_names": _are_identifiers}


def attributes(thing):
    """Return the instance attributes of an object by name, slots included."""
    # A `__dict__` of a user-defined dict subclass may hide entries.
    found = dict(list(dict.items(getattr(thing, "__dict__", {}))))
    for base in type(thing).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
                found[name] = getattr(thing, name)
    return found


def is_own(cls, name, value):
    """Return whether the code of a class may have set an attribute.

    Parameters
    ----------
    cls : type
    name : str
    value : object

    Returns
    -------
    own : bool
        Also True for attributes that are set from outside, if their value passes the check.
    """
    check = _SET_ELSEWHERE.get(name)
    return check(value) if check is not None else name in own_names(cls)


def is_template(thing):
    """Return whether an estimator holds only parameters and feature names."""
    return set(attributes(thing)) <= parameters(type(thing)) | _set_at_first(type(thing)) | {
        "_sklearn_output_config", "_metadata_request", "_skl_callbacks", "_carried",
        "n_features_in_", "feature_names_in_"}


@cache
def parameters(cls):
    """Return the parameter names of an estimator class; none for other classes."""
    if not hasattr(cls, "get_params"):
        return frozenset()
    return frozenset(inspect.signature(cls.__init__).parameters) - {"self"}


@cache
def _set_at_first(cls):
    """Return the names of attributes that `__init__` sets, in a class and its bases."""
    return frozenset(name for base in cls.__mro__
                     for code in _codes(vars(base).get("__init__")) for name in _stored(code))


@cache
def own_names(cls):
    """Return the names of all attributes that the code of a class may set."""
    names, named, by_name = {*parameters(cls), *_SET_ELSEWHERE}, set(), False
    for base in cls.__mro__:
        names |= set(inspect.get_annotations(base))
        names |= {name for name, member in vars(base).items()
                  if isinstance(member, cached_property)}
        for code in (code for member in vars(base).values() for code in _codes(member)):
            names |= _stored(code)
            named |= set(_texts(code.co_consts))
            # In DPEstimator itself, setattr sets only parameters and released attributes.
            by_name |= "setattr" in code.co_names and base is not DPEstimator
    if issubclass(cls, DPEstimator):
        names |= {stage.attribute for stage in _subclasses(Stage)}
    return frozenset(names | (named if by_name else set()))


def _stored(code):
    """Return the names of attributes that code sets."""
    return {each.argval for each in dis.get_instructions(code) if each.opname == "STORE_ATTR"}


def _codes(member):
    """Yield the code of a function and its inner functions, or of a descriptor."""
    if isinstance(member, CodeType):
        yield member
        for inner in member.co_consts:
            yield from _codes(inner) if isinstance(inner, CodeType) else ()
        return
    for name in ("fget", "fset", "func", "fn", "__func__", "__wrapped__", "__code__"):
        inner = getattr(member, name, None) if not isinstance(member, type) else None
        if inner is not None and inner is not member:
            yield from _codes(inner)


def _texts(constants):
    """Yield the strings among constants of code."""
    for each in constants:
        if isinstance(each, str):
            yield each
        elif isinstance(each, tuple):
            yield from _texts(each)


def _subclasses(cls):
    """Yield a class and all that derive from it."""
    yield cls
    for each in cls.__subclasses__():
        yield from _subclasses(each)

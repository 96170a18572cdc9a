"""Checks of hyper-parameters: each error names the parameter, its value and the remedy."""

import math
from numbers import Integral, Real

import numpy as np

__all__ = ["check_choice", "check_flag", "check_integer", "check_layers", "check_real"]


def check_real(name, value, *, low=-math.inf, high=math.inf, open_low=False, open_high=False,
               finite=True, remedy):
    """Return `value` as a float, or raise a ValueError.

    Parameters
    ----------
    name : str
    value : object
    low, high : float
    open_low, open_high : bool
        Whether the end itself is excluded.
    finite : bool
        Whether an infinite value is refused.
    remedy : str
        What would do, as the end of the sentence "must be ...".
    """
    ok = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if ok:
        try:
            number = float(value)
        except OverflowError:
            # An int beyond the range of floats.
            number = math.inf if value > 0 else -math.inf
        ok = (low < number if open_low else low <= number)
        ok = ok and (number < high if open_high else number <= high)
        ok = ok and (math.isfinite(number) or not finite)
    if not ok:
        raise ValueError(f"{name}={value!r}: must be {remedy}.")
    return number


def check_integer(name, value, *, low, high=math.inf, remedy):
    """Return `value` as an int, or raise a ValueError."""
    ok = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not ok or not low <= value <= high:
        raise ValueError(f"{name}={value!r}: must be {remedy}.")
    return int(value)


def check_layers(name, sizes):
    """Return widths of hidden layers, an int or a sequence, as a tuple; or raise a ValueError."""
    try:
        return tuple(check_integer("", size, low=1, high=10**6, remedy="")
                     for size in ((sizes,) if isinstance(sizes, Integral) else sizes))
    except (TypeError, ValueError):
        raise ValueError(f"{name}={sizes!r}: must be an int in [1, 10**6], or a sequence of such, "
                         "such as (128,).") from None


def check_choice(name, value, choices):
    """Return `value` if it is one of the strings in `choices`, or raise a ValueError."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r}: must be one of {', '.join(map(repr, choices))}.")
    return value


def check_flag(name, value, others=""):
    """Return `value` as a bool, or raise a ValueError that names the `others` it may be."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: must be {others}True or False.")
    return bool(value)


def check_auto_flag(name, value):
    """Return "auto", or `value` as a bool, or raise a ValueError."""
    is_auto = isinstance(value, str) and value == "auto"
    return value if is_auto else check_flag(name, value, "'auto', ")

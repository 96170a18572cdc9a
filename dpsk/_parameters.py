"""Checks of hyper-parameters: each error names the parameter, its value and the remedy."""

import math
from dataclasses import is_dataclass
from functools import partial
from numbers import Integral, Real

import numpy as np

from dpsk._privacy.noise.seeds import check_random_state

__all__ = [
    "GAUSSIAN_DELTA",
    "MOST_EPSILON",
    "PARAMETER_CONSTRAINTS",
    "check_auto_flag",
    "check_choice",
    "check_flag",
    "check_integer",
    "check_layers",
    "check_learnt",
    "check_real",
    "choice",
    "norm_origin",
    "number",
    "optional",
    "plain",
    "with_implied_norm",
]


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
        The end of the sentence "must be ..." in the message.
    """
    ok = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if ok:
        try:
            number = float(value)
        except OverflowError:
            # An int too large for a float.
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


def check_auto_flag(name, value, names=()):
    """Return "auto", one of `names`, or `value` as a bool, or raise a ValueError."""
    known = ("auto", *names)
    if isinstance(value, str) and value in known:
        return value
    return check_flag(name, value, "".join(f"{text!r}, " for text in known))


def check_verbose(name, value):
    """Raise a ValueError unless `value` is a bool or an int >= 0."""
    if not isinstance(value, (bool, np.bool_)):
        check_integer(name, value, low=0, remedy="an int >= 0, True or False")


#: Above it the accountant is not accurate in double precision.
MOST_EPSILON = 1e12


def check_epsilon(name, value):
    """Raise a ValueError unless `value` is a finite budget, or inf: no noise."""
    if not (isinstance(value, Real) and value == math.inf):
        check_real(name, value, low=0, open_low=True, high=MOST_EPSILON,
                   remedy="a finite number > 0 and at most 1e12, such as 1.0; or inf: no noise, "
                          "not private")


def check_clip_norm(name, value):
    """Raise a ValueError unless `value` bounds a gradient, or is inf."""
    # Sums of n gradients of larger norm could overflow before noise is added.
    high = math.inf if value == math.inf else 1e100
    check_real(name, value, low=1e-10, high=high, finite=False,
               remedy="None, or a number in [1e-10, 1e100], or inf: do not clip")


def check_options(name, value):
    """Raise a ValueError unless `value` is a dict; the solver checks its keys."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} of type {type(value).__name__}: must be None, or a dict of "
                         "options of the solver.")


def number(remedy, **limits):
    """Return a constraint: a number within limits, as for `check_real`."""
    return partial(check_real, remedy=remedy, **limits)


def choice(*choices):
    """Return a constraint: one of some strings."""
    return partial(check_choice, choices=choices)


def check_learnt(check):
    """Return a constraint that also accepts "auto" and None, which stand for learned values."""
    def checked(name, value):
        if value is None or (isinstance(value, str) and value == "auto"):
            return None
        try:
            return check(name, value)
        except ValueError as error:
            text = str(error)
        raise ValueError(text.replace("must be", "must be 'auto', None, or", 1))
    return checked


def optional(check):
    """Return a constraint that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


def plain(value):
    """Return the text of a configuration, with Python floats at six significant digits."""
    if is_dataclass(value):
        fields = ", ".join(f"{name}={plain(part)}" for name, part in vars(value).items())
        return f"{type(value).__name__}({fields})"
    if isinstance(value, tuple):
        return f"({', '.join(map(plain, value))})"
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


#: Products of several of these are still finite floats.
_STEPS = optional(partial(check_integer, low=1, high=10**15,
                          remedy="None, or an int in [1, 10**15]"))
#: Constraint of `delta` where all noise is Gaussian.
GAUSSIAN_DELTA = optional(number(
    "None for 1/n**2, or a number in (0, 1), as the noise is Gaussian", low=0, open_low=True,
    high=1, open_high=True))
#: Constraints by parameter: functions of name and value that raise a ValueError. A class overrides
#: parameters that it defines differently. Parameters about labels are checked with the labels, and
#: a radius with its constraint set.
PARAMETER_CONSTRAINTS = {
    "alpha": number("a finite number >= 0", low=0),
    "batch_size": _STEPS,
    "clip_norm": optional(check_clip_norm),
    # Within these, float32 sums over rows do not overflow and clipped products do not underflow.
    "data_norm": number("a number in [1e-10, 1e10], a bound on row norms such as 1.0",
                        low=1e-10, high=1e10),
    "data_norm_inf": optional(number(
        "None, or a number in [1e-10, 1e10], a bound on entries of rows", low=1e-10, high=1e10)),
    "delta": optional(number("None for 1/n**2, or a number in [0, 1)", low=0, high=1,
                             open_high=True)),
    "epsilon": check_epsilon,
    "fit_intercept": check_flag,
    "group_penalty": number("a finite number >= 0", low=0),
    "hidden_layer_sizes": check_layers,
    "l1_ratio": number("a number in [0, 1]", low=0, high=1),
    "learning_rate": optional(number("None, or a finite number > 0", low=0, open_low=True)),
    "max_iter": _STEPS,
    "positive_ratio": optional(number("None, or a number in [0.0001, 0.9999]", low=1e-4,
                                      high=1 - 1e-4)),
    "precondition": check_auto_flag,
    "random_state": lambda name, value: check_random_state(value),
    "solver_options": optional(check_options),
    "temperature": check_auto_flag,
    "threshold": number("a number in [1e-10, 1e10]", low=1e-10, high=1e10),
    "verbose": check_verbose,
}


def with_implied_norm(estimator):
    """Return an estimator with the `data_norm` that its rows are known to have."""
    estimator._implied_norm = estimator.data_norm
    return estimator


def norm_origin(estimator):
    """Return the origin of a `data_norm` that is not learned, for certificates."""
    norm = estimator.data_norm
    if norm in ("auto", None):
        return "default" if getattr(estimator, "data_norm_inf", None) is None else "derived"
    # A different value was set by the user.
    return "derived" if norm == estimator._implied_norm else "declared"

"""Public bounds on regression targets, and what a loss takes of targets within them."""

from typing import Any

import numpy as np

from dpsk._data.errors import discreetly
from dpsk._parameters import check_real

__all__ = ["centered", "check_target_bounds", "clipped_targets", "largest_of", "middle_of",
           "numeric_targets", "scaled", "shares", "target_ends"]

#: Targets that are looked at at once.
_PART = 1 << 20

#: Mapping to [-1, 1] divides by half the distance of the bounds.
_LEAST_WIDTH = 1e-100


def check_target_bounds(bounds, default, lowest=-1e100):
    """Return `bounds` as two floats; a ValueError unless they are finite numbers in order.

    Neither is below `lowest`. `default` is an example for the message.
    """
    try:
        low, high = (check_real("target_bounds", end, low=lowest, high=1e100, remedy="finite")
                     for end in bounds)
        ordered = high - low >= _LEAST_WIDTH
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        least = "" if lowest < 0 else f"{lowest:g} <= "
        raise ValueError(f"target_bounds={bounds!r}: must be two finite numbers "
                         f"(low, high) with {least}low < high, at least "
                         f"{_LEAST_WIDTH:g} apart, such as {default}.")
    return low, high


def target_ends(rows):
    """Return the least and the largest target of the rows of a source: sensitive."""
    ends = [(float(y.min()), float(y.max()))
            for y, _ in (rows.beside(part) for part in rows.blocks(_PART))]
    low, high = zip(*ends, strict=True)
    return min(low), max(high)


def clipped_targets(target_map, bounds, dtype, y):
    """Return targets clipped to bounds, in double precision, and mapped."""
    y = np.clip(numeric_targets(y), *bounds)
    return target_map(y, *bounds).astype(dtype, copy=False)


def numeric_targets(y):
    """Return targets in double precision; a ValueError, which quotes none, if they are words, or
    one is missing or infinite.
    """
    numbers = discreetly("y", np.asarray, y, np.float64)
    if not np.isfinite(numbers).all():
        # Of None among objects NumPy makes NaN.
        raise ValueError("Input y contains NaN or infinity; leave out rows without a target.")
    return numbers


def middle_of(low: Any, high: Any) -> tuple[Any, Any]:
    """Return what numbers between bounds are mapped by: the middle, and half the width."""
    # Halves first, as a width may be no number.
    return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low


def largest_of(low, high):
    """Return what targets are mapped by where nothing makes up for a shift: 0, the larger bound.
    """
    return 0.0, max(abs(low), abs(high))


def centered(y, low, high):
    """Return targets between bounds mapped to [-1, 1]."""
    middle, half = middle_of(low, high)
    return (y - middle) / half


def scaled(y, low, high):
    """Return targets over the larger bound."""
    return y / largest_of(low, high)[1]


def shares(y, low, high):
    """Return targets over the upper bound."""
    return y / high

"""Public bounds on regression targets, and maps of clipped targets for losses."""

from typing import Any

import numpy as np

from dpsk._data.errors import discreetly
from dpsk._data.structure import check_cells
from dpsk._parameters import check_real

__all__ = ["centered", "check_target_bounds", "clipped_targets", "largest_of", "middle_of",
           "numeric_targets", "scaled", "shares", "target_ends"]

#: Number of targets per block.
_PART = 1 << 20

#: Least distance of the bounds: the map to [-1, 1] divides by half of it.
_LEAST_WIDTH = 1e-100
_LARGEST = 1e30


def check_target_bounds(bounds, default, lowest=-_LARGEST):
    """Return `bounds` as two floats, or raise a ValueError.

    They must be increasing, at least `lowest` and at most 1e30, where no sum of squares overflows.
    `default` is an example for the message.
    """
    try:
        low, high = (check_real("target_bounds", end, low=lowest, high=_LARGEST, remedy="finite")
                     for end in bounds)
        ordered = high - low >= _LEAST_WIDTH
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise ValueError(f"target_bounds={bounds!r}: must be two numbers (low, high) with "
                         f"{lowest:g} <= low < high <= {_LARGEST:g}, at least "
                         f"{_LEAST_WIDTH:g} apart, such as {default}.")
    return low, high


def target_ends(rows):
    """Return the least and the largest target of a source, which are sensitive values."""
    ends = [(float(y.min()), float(y.max()))
            for y, _ in (rows.beside(part) for part in rows.blocks(_PART))]
    low, high = zip(*ends, strict=True)
    return min(low), max(high)


def clipped_targets(target_map, bounds, dtype, y):
    """Clip targets to bounds, and map them by `target_map`."""
    return target_map(np.clip(y, *bounds), *bounds).astype(dtype, copy=False)


def numeric_targets(y, name="y"):
    """Return targets in double precision.

    Raises an error, which quotes no target, if a target is no number, missing or infinite.
    """
    # Only the array tells that a polars Series holds dates.
    check_cells(name, y, True)
    numbers = discreetly(name, np.asarray, y, np.float64)
    if not np.isfinite(numbers).all():
        # NumPy has converted None to NaN.
        raise ValueError(f"Input {name} contains NaN or infinity; leave out rows without a "
                         "target.")
    return numbers


def middle_of(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the shift and scale of the map to [-1, 1]: the middle and half the width."""
    # Halve first, as the full width may overflow.
    return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low


def largest_of(low, high):
    """Return shift 0 and scale max(abs(bounds)), for models without an intercept."""
    return 0.0, max(abs(low), abs(high))


def centered(y, low, high):
    """Return targets between bounds mapped to [-1, 1]."""
    middle, half = middle_of(low, high)
    return (y - middle) / half


def scaled(y, low, high):
    """Return targets divided by the largest absolute bound."""
    return y / largest_of(low, high)[1]


def shares(y, low, high):
    """Return targets divided by the upper bound."""
    return y / high

"""Public bounds on regression targets."""

from dpsk._parameters import check_real

__all__ = ["check_target_bounds"]

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

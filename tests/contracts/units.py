"""What tests expect of answers that are no exact sums: whole units, and noise that covers them."""

import numpy as np

from dpsk._privacy.noise.grids import float_unit

__all__ = ["assert_whole", "unit_and_scale"]


def unit_and_scale(multiplier, bound, size):
    """Return the unit of an answer, and the noise's scale for a clip that covers rounding.

    Two neighbors are twice the clip apart, and rounding to whole units moves each of their arrays,
    of `size` coordinates, by half a unit in each.
    """
    unit = float_unit(multiplier * bound)
    return unit, multiplier * (bound + 0.5 * unit * np.sqrt(size))


def assert_whole(units):
    """Assert that numbers are whole, but for the rounding of a division and a product."""
    assert np.abs(units).max() < 2.0**48
    np.testing.assert_allclose(units, np.rint(units), rtol=0, atol=2.0**-4)

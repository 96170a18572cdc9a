"""Powers of two that sums and noise are rounded to, from public numbers only.

Where noise and what it hides are whole multiples of one unit, so is their sum: it has no finer
bits that could tell whose sum it was.
"""

from __future__ import annotations

import math

__all__ = ["exact_bits", "float_unit", "grid_bits"]

#: A unit this many bits below the noise is far finer than it.
_FINER = 30


def grid_bits(n_samples: int, clip_norm: float, noise_std: float) -> int | None:
    """Return ``a + b``: the grid of sums is ``2^-(a+b)``, from public numbers only.

    As fine as keeps sums and noise, of deviation `noise_std`, within 52 bits and the noise within
    2^40 grid units. None where it would be under 2^10 units: exact sums do not apply.
    """
    bits = exact_bits(n_samples * clip_norm, noise_std)
    return bits if noise_std * 2.0**bits >= 2.0**10 else None


def exact_bits(largest: float, noise_std: float) -> int:
    """Return the bits after the point of a grid that holds sums up to `largest`, and noise.

    As fine as keeps both within 52 bits and the noise, if any, within 2^40 grid units.
    """
    sums = 52 - math.ceil(math.log2(largest + 10.0 * noise_std))
    return min(sums, 40 - math.ceil(math.log2(noise_std))) if noise_std else sums


def float_unit(noise_scale: float) -> float:
    """Return the unit of an answer that is no exact sum: 2^-30 of its noise, or less."""
    return 2.0 ** (math.floor(math.log2(noise_scale)) - _FINER)

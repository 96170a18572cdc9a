"""Grid spacings for sums and noise: powers of two, from public numbers only.

If a value and its noise are whole multiples of one grid spacing, so is their sum. The sum then has
no finer bits that could reveal the value.
"""

from __future__ import annotations

import math

__all__ = ["exact_bits", "float_unit", "grid_bits"]

#: The grid spacing is this many bits below the noise scale.
_FINER = 30


def grid_bits(n_samples: int, clip_norm: float, noise_std: float) -> int | None:
    """Return ``a + b``: the grid spacing of sums is ``2^-(a+b)``, from public numbers.

    The spacing is the finest that keeps sums and noise, of deviation `noise_std`, within 52 bits
    and the noise within 2^40 spacings. The result is None if the noise would be under 2^10
    spacings, so that exact sums do not apply.
    """
    bits = exact_bits(n_samples * clip_norm, noise_std)
    return bits if noise_std * 2.0**bits >= 2.0**10 else None


def exact_bits(largest: float, noise_std: float) -> int:
    """Return the fractional bits of a grid for sums up to `largest` and their noise.

    The grid is the finest that keeps both within 52 bits and any noise within 2^40 spacings.
    """
    sums = 52 - math.ceil(math.log2(largest + 10.0 * noise_std))
    return min(sums, 40 - math.ceil(math.log2(noise_std))) if noise_std else sums


def float_unit(noise_scale: float) -> float:
    """Return the grid spacing without exact sums: 2^-30 of the noise scale, or less."""
    return 2.0 ** (math.floor(math.log2(noise_scale)) - _FINER)

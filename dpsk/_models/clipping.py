"""Clipping: one factor per vector brings its norm to a bound, with rounding slack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["HEADROOM", "SHORTEST", "clip_factors", "shortened"]

#: Bounds are tightened by this factor, more than the rounding of sums over thousands of rows.
HEADROOM = 1.0 - 2.0**-24
#: Squares of shorter vectors underflow; bounds count such vectors as this long.
SHORTEST = 1e-150
_LEAST = float(np.finfo(np.float64).tiny)


def clip_factors(norms: FloatArray, limits: FloatArray | float,
                 least: float = _LEAST) -> FloatArray:
    """Return ``min(1, limits / norms)``, or 0 for dropped vectors; float64, (n,).

    A vector is dropped if its norm is not finite, or if its factor is below `least`, the smallest
    number of full precision in the arithmetic that uses it. Smaller factors, or their products,
    have too few bits to keep the bound. `limits`, one or n of them, include rounding slack.
    """
    with np.errstate(all="ignore"):
        factors = np.minimum(1.0, limits / norms)
        # Comparisons with NaN are false, so NaN becomes 0 too.
        factors[~(factors >= least)] = 0.0
    return factors


def shortened(rows: FloatArray, length: FloatArray | float) -> FloatArray:
    """Return dense rows scaled down to a length, in place; dropped rows become zero."""
    factors = clip_factors(np.sqrt(np.einsum("ij,ij->i", rows, rows)), length * HEADROOM)
    rows *= factors[:, None]
    # The product of 0 and an overflowed entry would not be 0.
    rows[factors == 0.0] = 0.0
    return rows

"""The clip: one factor a vector that brings its norm to a bound, head-room included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["HEADROOM", "SHORTEST", "clip_factors", "shortened"]

#: Bounds are tightened by this factor, more than the rounding of sums over thousands of rows.
HEADROOM = 1.0 - 2.0**-24
#: Squares of shorter vectors underflow: for the sake of a bound none counts as shorter.
SHORTEST = 1e-150
_LEAST = float(np.finfo(np.float64).tiny)


def clip_factors(norms: FloatArray, limits: FloatArray | float,
                 least: float = _LEAST) -> FloatArray:
    """Return ``min(1, limits / norms)``, and 0 for vectors that are dropped; float64, shape (n,).

    Those are the ones whose norm is not finite, and those whose factor is below `least`, the least
    of full precision in the arithmetic that uses it: it has too few bits to keep the bound, or its
    product would. `limits`, one or n of them, come with head-room.
    """
    with np.errstate(all="ignore"):
        factors = np.minimum(1.0, limits / norms)
        # Comparisons with what is no number are false.
        factors[~(factors >= least)] = 0.0
    return factors


def shortened(rows: FloatArray, length: FloatArray | float) -> FloatArray:
    """Return dense rows scaled down to a length, in place; those that are dropped become zero."""
    factors = clip_factors(np.sqrt(np.einsum("ij,ij->i", rows, rows)), length * HEADROOM)
    rows *= factors[:, None]
    # A product of 0 and what overflowed would not be 0.
    rows[factors == 0.0] = 0.0
    return rows

"""Nearest points of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["simplex_projection"]


def simplex_projection(w: FloatArray, radius: float) -> FloatArray:
    """Return the nearest point with entries >= 0 that sum to `radius`.

    Sort and threshold (Duchi et al. 2008), relative to the largest entry: what is kept is
    within a radius of it, so that nothing cancels.
    """
    below = w - w.max()
    ordered = np.sort(below, axis=None)[::-1]
    excess = (np.cumsum(ordered) - radius) / np.arange(1, ordered.size + 1)
    threshold = excess[np.count_nonzero(ordered > excess) - 1]
    return np.maximum(below - threshold, 0.0)

"""Nearest points of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["capped_projection", "simplex_projection"]


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


def capped_projection(w: FloatArray, most: FloatArray) -> FloatArray:
    """Return the nearest point of sum 1 with entries >= 0 and at most `most`, of sum >= 1.

    Its sum, as a function of the threshold, is linear between the points where an entry meets an
    end of its interval. No entry of `most` exceeds 1.
    """
    if most.sum() <= 1.0:  # by rounding
        return most.copy()
    # Of two entries farther apart than 1, the smaller is 0 or the larger at its bound, however
    # far. So larger gaps count as 1, and nothing cancels.
    order = np.argsort(w)
    near = np.cumsum(np.minimum(np.diff(w[order], prepend=w[order[0]]), 1.0))
    w = near[np.argsort(order)]
    ends = np.sort(np.concatenate([w - most, w]))
    sums = np.clip(w - ends[:, None], 0.0, most).sum(axis=1)
    # The last end with a sum of at least 1; at the greatest end all entries are 0.
    last = max(np.count_nonzero(sums >= 1.0) - 1, 0)
    slope = (ends[last + 1] - ends[last]) / (sums[last] - sums[last + 1])
    return np.clip(w - ends[last] - slope * max(sums[last] - 1.0, 0.0), 0.0, most)

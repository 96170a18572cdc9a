"""The published score of the best candidate: within its range, or NaN if too noisy."""

from __future__ import annotations

import math

from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

__all__ = ["told_score"]


def told_score(name: str, score: float, noise: float, low: float, high: float) -> float:
    """Return a noisy score clipped to its range; NaN, with a warning, if too noisy.

    It is too noisy if its standard error exceeds the score or a quarter of the range.

    Parameters
    ----------
    name : str
        Name of the score.
    score : float
        The released score.
    noise : float
        Its standard error.
    low, high : float
        Range of the score.
    """
    inside = min(max(score, low), high)
    if noise <= min(abs(inside), (high - low) / 4.0):
        return inside
    warn(
        f"best_score_ is NaN: the noise on scoring={name!r} has a standard error of {noise:.2g}, "
        "larger than the score itself or a quarter of its range; use a larger epsilon, more rows, "
        "or a larger test_size.",
        PrivacyWarning, stacklevel=4)
    return math.nan

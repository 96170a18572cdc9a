"""The score of what was chosen, as it is told: within its range, with a standard error."""

from __future__ import annotations

import math

from dpsk._warnings import warn
from dpsk.exceptions import PrivacyWarning

__all__ = ["told_score"]


def told_score(name: str, score: float, noise: float, low: float, high: float) -> float:
    """Return a noisy score within its range; NaN, with a warning, where noise hides it.

    It does where it is larger than the score, or where two errors to either side are the range.

    Parameters
    ----------
    name : str
        Of the score.
    score : float
        As it was released.
    noise : float
        Its standard error.
    low, high : float
        What the score can be.
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

"""Classes and probabilities of scores: one for two classes, else one per class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, log_softmax, softmax

if TYPE_CHECKING:
    from dpsk._typing import FloatArray, IntArray

__all__ = ["best_class", "log_probabilities", "probabilities"]


def best_class(scores: FloatArray) -> IntArray:
    """Return the best class's index, (n,); a single score means class 1 if positive."""
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def probabilities(scores: FloatArray) -> FloatArray:
    """Return class probabilities from log-odds, (n,), or from logits, (n, n_classes)."""
    # Both signs are computed: 1 minus a probability near 1 would lose digits.
    found = np.column_stack([expit(-scores), expit(scores)]) if scores.ndim == 1 else (
        softmax(scores, axis=1))
    best = best_class(scores)
    # Rounding makes some probabilities equal whose scores are not; the best class stays first.
    rows = np.flatnonzero(found.argmax(axis=1) != best)
    found[rows, best[rows]] = np.nextafter(found[rows].max(axis=1), found.dtype.type(1))
    return found


def log_probabilities(scores: FloatArray) -> FloatArray:
    """Return the logarithm of `probabilities`, finite even where these underflow."""
    if scores.ndim == 1:
        return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
    return log_softmax(scores, axis=1)

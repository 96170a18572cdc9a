"""The split into training and hold-out rows, by index alone."""

import math

from dpsk._privacy.noise.public import public_permutation

__all__ = ["holdout_size", "split_rows"]


def holdout_size(n_samples, test_size):
    """Return the number of held-out rows; at least two rows must be left to train on."""
    count = max(1, math.ceil(test_size * n_samples))
    if n_samples - count < 2:
        raise ValueError(f"n_samples={n_samples}: with test_size={test_size!r} fewer than 2 rows "
                         "are left to train on; give more rows, or a smaller test_size.")
    return count


def split_rows(n_samples, count, random_state):
    """Return the indices of training rows and of `count` hold-out rows.

    The shuffle depends on indices only, not on what rows hold, so a replaced row stays in the
    same part.
    """
    order = public_permutation(random_state, "split into training and hold-out rows", n_samples)
    return order[count:], order[:count]

"""The split into training and hold-out rows, by index alone."""

import math

from dpsk._privacy.noise.public import public_permutation

__all__ = ["holdout_size", "split_rows"]


def holdout_size(n_samples, test_size):
    """Return how many rows are held out, at least one; a ValueError if fewer than two are left."""
    count = max(1, math.ceil(test_size * n_samples))
    if n_samples - count < 2:
        raise ValueError(f"n_samples={n_samples}: with test_size={test_size!r} fewer than 2 rows "
                         "are left to train on; give more rows, or a smaller test_size.")
    return count


def split_rows(n_samples, count, random_state):
    """Return the indices of training rows and of `count` hold-out rows.

    Rows are shuffled by their index, whatever they hold: a row that is replaced is in one part of
    the two, and the same one.
    """
    order = public_permutation(random_state, "split into training and hold-out rows", n_samples)
    return order[count:], order[:count]

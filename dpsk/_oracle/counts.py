"""Noisy counts of groups of rows.

Replacing one row takes it out of one group and puts it into another, which moves the vector of
counts by at most ``sqrt(2)``; two groups are one number, which moves by 1.
"""

import numpy as np

from dpsk._privacy.events import Gaussian
from dpsk._privacy.noise import samplers

__all__ = ["CountOracle"]

#: Noise is rounded to multiples of this, as counts are: their sum shows no finer bits.
_UNIT = 2.0**-20


class CountOracle:
    """Answer with the noisy number of rows in every group, once.

    Parameters
    ----------
    groups : ndarray of int, shape (n,)
    n_groups : int
        At least 2, public.
    mu : float
        What the answer may cost.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    def __init__(self, groups, n_groups, mu, stream, ledger):
        self._groups, self._n_groups = groups, n_groups
        self._event = Gaussian(mu)
        self._std = (1.0 if n_groups == 2 else np.sqrt(2.0)) / mu
        self._stream, self._ledger = stream, ledger

    def counts(self):
        """Return the noisy counts, float64, shape (n_groups,)."""
        self._ledger.charge(self._event)
        exact = np.bincount(self._groups, minlength=self._n_groups).astype(np.float64)
        free = 1 if self._n_groups == 2 else self._n_groups
        noise = self._std * samplers.standard_normal(self._stream, (free,))
        noisy = exact[-free:] + np.rint(noise / _UNIT) * _UNIT
        # The number of rows is public, so one of two counts says both.
        return np.array([len(self._groups) - noisy[0], noisy[0]]) if free == 1 else noisy

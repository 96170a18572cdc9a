"""The noisy mean of rows.

Replacing one row of norm at most R by another moves the sum of rows by at most 2R.
"""

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._models.preconditioner import entering_rows
from dpsk._oracle.grid_sums import exact_bits
from dpsk._privacy.events import Gaussian
from dpsk._privacy.noise import samplers

__all__ = ["MeanOracle"]


class MeanOracle:
    """Answer with the noisy mean of the rows, once.

    Parameters
    ----------
    model : LinearModel
        Without intercept. Scales rows to norm `data_norm` at most, for this answer only.
    X : ndarray of shape (n, n_features)
    mu : float
        What the answer may cost.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    def __init__(self, model, X, mu, stream, ledger):
        self._model, self._X = model, X
        self._event = Gaussian(mu)
        self._stream, self._ledger = stream, ledger
        self._noise_std = 2.0 * model.data_norm / mu

    @property
    def noise_std(self):
        """float : standard deviation of the noise on every coordinate of the mean; public."""
        return self._noise_std / len(self._X)

    def mean(self):
        """Return the noisy mean, float64, shape (n_features,)."""
        self._ledger.charge(self._event)
        largest = len(self._X) * self._model.data_norm
        unit = 2.0 ** -exact_bits(largest, self._noise_std)
        total = np.zeros(self._model.n_features)
        for part in row_blocks(len(self._X), len(total)):
            rows = entering_rows(self._model, self._X[part], 1.0 / unit)
            # On this grid every sum is exact, so no rounding shows the rows.
            total += np.trunc(rows, out=rows).sum(axis=0)
        noise = samplers.standard_normal(self._stream, total.shape)
        total += np.rint(self._noise_std / unit * noise)
        return total * (unit / len(self._X))

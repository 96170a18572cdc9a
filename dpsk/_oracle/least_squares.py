r"""Noisy sums of squares and cross products, all that least squares needs.

Rows ``r`` of norm at most R and targets of size at most B are released as
``A = sum r r' + (N + N')/2`` and ``b = sum y r + noise``, the entries of N with standard
deviation ``R^2 t`` and the noise with ``R B t``. With ``c = |cos|`` of the angle between the
replaced row and its replacement, the squared distance of the pair in units of the noise is at
most ``(2 (1 - c^2) + 2 (1 + c)) / t^2``, largest at ``c = 1/2``: together they are mu-GDP with
``mu^2 = 4.5 / t^2``. Two separate releases would cost ``6 / t^2``.
"""

import math

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._models.linear import HEADROOM
from dpsk._models.preconditioner import entering_rows
from dpsk._oracle.grid_sums import exact_bits
from dpsk._oracle.moments import symmetric_noise
from dpsk._privacy.noise import samplers

__all__ = ["LeastSquaresOracle"]


class LeastSquaresOracle:
    """Answer once with both moments.

    Parameters
    ----------
    model : LinearModel
        With a scalar prediction.
    rows : Rows
        Targets are clipped to [-1, 1].
    declared : OneRelease
    noise_multiplier : float
        1 / mu.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    arithmetic = "grid"

    @classmethod
    def open(cls, problem, declared, clip_norm, rows, noise_multiplier, stream, ledger):
        """Return an oracle over `rows`; parameters as for `GradientOracle.open`."""
        return cls(problem.model, rows, declared, noise_multiplier, stream, ledger)

    def __init__(self, model, rows, declared, noise_multiplier, stream, ledger):
        self._model, self._rows = model, rows
        self._event = declared(noise_multiplier)
        self._spread = math.sqrt(4.5) * noise_multiplier
        self._stream, self._ledger = stream, ledger

    @property
    def n_samples(self):
        """int : the public number of rows."""
        return len(self._rows)

    @property
    def matrix_noise_std(self):
        """float : standard deviation of the noise on a diagonal entry of A."""
        return self._spread * self._model.radius**2

    def moments(self):
        """Return the noisy sums ``A`` (p, p), symmetric, and ``b`` (p,)."""
        self._ledger.charge(self._event)
        row_unit, target_unit = self._units()
        size, n_features = self._model.shape[0], self._model.n_features
        matrix, vector = np.zeros((size, size)), np.zeros(size)
        for part in row_blocks(len(self._rows), size):
            # In whole units every sum of products is exact, so no rounding shows the rows.
            rows, targets = self._entering(part)
            rows, targets = np.trunc(rows / row_unit), np.trunc(targets / target_unit)
            matrix += rows.T @ rows
            vector += rows.T @ targets
        matrix += symmetric_noise(self._stream, size, self.matrix_noise_std / row_unit**2)
        matrix *= row_unit**2
        scale = self._spread * self._model.radius / (row_unit * target_unit)
        vector += np.rint(scale * samplers.standard_normal(self._stream, (size,)))
        if n_features < size and self._rows.weights is None:
            # The count of rows is public.
            matrix[-1, -1] = len(self._rows)
        return matrix, vector * (row_unit * target_unit)

    def _entering(self, part):
        """Return rows and targets, weighted, then bounded."""
        rows = entering_rows(self._model, self._rows.X[part])
        targets = np.clip(self._rows.y[part].astype(np.float64), -1.0, 1.0)
        if self._rows.weights is not None:
            roots = np.sqrt(self._rows.bounded_weights[part])
            targets = np.clip(targets * roots, -1.0, 1.0)
            rows *= roots[:, None]
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            longest = self._model.radius * HEADROOM
            rows *= np.minimum(1.0, longest / np.maximum(norms, 1e-300))[:, None]
            rows[~np.isfinite(norms)] = 0.0
        # One that is no number would make a sum that is none, which no noise hides.
        targets[np.isnan(targets)] = 0.0
        return rows, targets

    def _units(self):
        """Return the powers of two on which rows and targets lie, from public numbers."""
        target_unit = 2.0 ** -(exact_bits(len(self._rows), self._spread) // 2)
        return target_unit * 2.0 ** math.ceil(math.log2(self._model.radius)), target_unit

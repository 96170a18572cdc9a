r"""Noisy descent of which only the last iterate leaves.

With steps that contract by ``c`` and noise of standard deviation ``tau`` in each, where replacing
a row moves a step by at most ``s``, the last iterate alone is mu-GDP with
``mu^2 = (s / tau)^2 T_eff``, ``T_eff = (1 - c^T)(1 + c) / ((1 + c^T)(1 - c))``: the price of
T_eff released gradients instead of T (Bok, Su, Altschuler 2024). It holds for that iterate only,
so nothing else may leave.
"""

import math

import numpy as np

from dpsk._oracle.row_sums import RowSums
from dpsk._privacy.noise import samplers
from dpsk._privacy.sensitivity import contraction

__all__ = ["LastIterateOracle"]


class LastIterateOracle:
    """Run noisy gradient steps and release the last iterate, once.

    Parameters
    ----------
    sums : RowSums
        Holds the rows and clips their gradients.
    declared : LastIterate
    noise_multiplier : float
        Noise on the sum of gradients in each step over the clip norm.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    arithmetic = "snapped"

    @classmethod
    def open(cls, problem, declared, clip_norm, rows, noise_multiplier, stream, ledger):
        """Return an oracle over `rows`; parameters as for `GradientOracle.open`."""
        sums = RowSums(problem.model, problem.loss, rows, clip_norm)
        return cls(sums, declared, noise_multiplier, stream, ledger)

    def __init__(self, sums, declared, noise_multiplier, stream, ledger):
        self._sums, self._declared = sums, declared
        self._event = declared(noise_multiplier)
        self._noise_std = noise_multiplier * sums.clip_norm * sums.rounding
        self._stream, self._ledger = stream, ledger

    def descend(self, theta, penalty):
        """Return the last iterate of the declared noisy descent from `theta`.

        Parameters
        ----------
        theta : ndarray of float64
            Public start.
        penalty : Penalty

        Returns
        -------
        theta : ndarray of float64

        Raises
        ------
        ValueError
            If the steps are not known to contract; nothing has been drawn then.
        """
        self._check(penalty)
        self._ledger.charge(self._event)
        step, n_samples = self._declared.step, self._sums.n_samples
        for _ in range(self._declared.steps):
            noise = self._noise_std * samplers.standard_normal(self._stream, theta.shape)
            gradient = (self._sums.gradient(theta) + noise) / n_samples
            theta = theta - step * (gradient + penalty.gradient(theta))
        # Rounding what is released costs nothing and hides the last bits.
        unit = 2.0 ** (math.floor(math.log2(step * self._noise_std / n_samples)) - 30)
        return np.rint(np.where(np.isfinite(theta), theta, 0.0) / unit) * unit

    def _check(self, penalty):
        sums, declared = self._sums, self._declared
        sums.require_monotone()
        alpha = penalty.strong_convexity
        # A penalty of the same curvature everywhere, and no proximal map after the noise.
        plain = penalty.is_smooth and penalty.smoothness == alpha == declared.strong_convexity
        bound = 1.0 - declared.step * alpha
        if not plain or contraction(declared.step, alpha, sums.smoothness) > bound:
            raise ValueError(
                f"learning_rate={declared.step!r}: the last iterate alone is cheaper only for an "
                "l2 penalty on all coordinates and steps of at most 2 / (smoothness + 2 alpha); "
                "leave learning_rate=None, or use solver='gd'.")

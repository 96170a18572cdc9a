"""Noiseless descent behind a single noisy answer."""

from dataclasses import dataclass

import numpy as np

from dpsk._privacy import mechanisms
from dpsk._privacy.events import Gaussian, Pure
from dpsk._privacy.sensitivity import gradient_descent_sensitivity

__all__ = ["OneRelease", "OutputOracle"]


@dataclass(frozen=True)
class OneRelease:
    """The declaration of one noisy output: Pure or Gaussian.

    The noise multiplier is the noise's scale over the sensitivity.
    """

    pure: bool

    def __call__(self, noise_multiplier):
        return (Pure if self.pure else Gaussian)(1.0 / noise_multiplier)


class OutputOracle:
    """Run gradient steps without noise and release the last iterate with noise.

    The iterates never leave. Everything runs in float64, and a coordinate that is not finite
    becomes 0 before the noise, so that nothing about the rows shows in an exception.

    Parameters
    ----------
    sums : RowSums
        Holds the rows in float64 and clips their gradients.
    release : OneRelease
    noise_multiplier : float
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    def __init__(self, sums, release, noise_multiplier, stream, ledger):
        self._sums = sums
        self._pure = release.pure
        self._event = release(noise_multiplier)
        self._noise_multiplier = noise_multiplier
        self._stream = stream
        self._ledger = ledger

    def descend(self, theta, penalty, step, n_steps):
        """Return the noisy last iterate of proximal gradient descent.

        The sensitivity of that iterate is worked out here, from what the rows are clipped to
        and from the penalty itself.

        Parameters
        ----------
        theta : ndarray of float64
            Public start.
        penalty : Penalty
        step : float
        n_steps : int

        Returns
        -------
        theta : ndarray of float64

        Raises
        ------
        ValueError
            If the steps are not known to be nonexpansive; nothing has been drawn then.
        """
        sensitivity = self._sensitivity(penalty, step, n_steps)
        self._ledger.charge(self._event)
        for _ in range(n_steps):
            gradient = self._sums.gradient(theta) / self._sums.n_samples
            gradient += penalty.gradient(theta)
            theta = penalty.prox(theta - step * gradient, step)
        return np.where(np.isfinite(theta), theta, 0.0) + self._noise(theta.shape, sensitivity)

    def _sensitivity(self, penalty, step, n_steps):
        """Bound the l2 distance between last iterates on neighbouring data."""
        sums = self._sums
        if sums.loss.vector_output and sums.clips:
            raise ValueError(
                f"clip_norm={sums.clip_norm:.6g} clips gradients of a vector-valued prediction, "
                "which are then not the gradients of any convex loss; set clip_norm=inf or use "
                "a solver that releases noisy gradients, such as solver='gd'.")
        alpha = penalty.strong_convexity
        # A ridge on some coordinates only adds to the largest curvature, not to the smallest.
        smoothness = sums.smoothness + penalty.smoothness - alpha
        exact = gradient_descent_sensitivity(
            lipschitz=sums.clip_norm, n_samples=sums.n_samples, step=step, n_steps=n_steps,
            smoothness=smoothness, strong_convexity=alpha)
        # Rounding in n-term sums adds up to n u per step to a distance of order 1/n.
        return exact * (1.0 + sums.n_samples**2 * 2.0**-53)

    def _noise(self, shape, sensitivity):
        scale = self._noise_multiplier * sensitivity
        if self._pure:
            return mechanisms.gamma_norm_noise(self._stream, shape, scale)
        return scale * mechanisms.standard_normal(self._stream, shape)

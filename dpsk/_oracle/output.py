"""Noiseless descent behind a single noisy answer."""

import math

import numpy as np

from dpsk._oracle.row_sums import RowSums
from dpsk._privacy.noise import samplers
from dpsk._privacy.sensitivity import (
    contraction,
    gradient_descent_sensitivity,
    minimiser_sensitivity,
)

__all__ = ["OutputOracle", "noised", "steps_to_certify"]


def steps_to_certify(lipschitz, tolerance, step, strong_convexity):
    """Return how many gradient steps from 0 reach a gradient of norm `tolerance` on any data.

    The minimiser has norm at most ``L / alpha`` and each step contracts by ``1 - step alpha``.
    The gradient's norm is at most the smoothness times the distance; that distance is what the
    sensitivity uses, and it falls below ``tolerance / alpha``.
    """
    gap = step * strong_convexity
    if gap >= 1.0:
        return 1
    return max(1, math.ceil(math.log(lipschitz / tolerance) / -math.log1p(-gap)))


class OutputOracle:
    """Run gradient steps without noise and release the last iterate with noise.

    The iterates never leave. Everything runs in float64, and a coordinate that is not finite
    becomes 0 before the noise, so that nothing about the rows shows in an exception.

    Parameters
    ----------
    sums : RowSums
        Holds the rows and clips their gradients.
    release : OneRelease
    noise_multiplier : float
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    arithmetic = "snapped"

    @classmethod
    def open(cls, problem, declared, clip_norm, rows, noise_multiplier, stream, ledger):
        """Return an oracle over `rows`; parameters as for `GradientOracle.open`."""
        sums = RowSums(problem.model, problem.loss, rows, clip_norm)
        return cls(sums, declared, noise_multiplier, stream, ledger)

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
        and from the penalty object, whose curvature and proximal map are trusted.

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
            theta = penalty.prox(theta - step * self._gradient(theta, penalty), step)
        return self._released(theta, sensitivity)

    def minimise(self, theta, penalty, step, tolerance, n_steps):
        """Return the noisy minimiser, to a certified gradient norm.

        Accelerated steps stop once the gradient's norm is at most `tolerance`; where they do
        not get there, `n_steps` plain steps do, for every data set. Whichever happens, the
        point is within ``tolerance / alpha`` of the minimiser, so the sensitivity is the same.
        How it ended stays here.

        Parameters
        ----------
        theta : ndarray of float64
            Public start, zero.
        penalty : Penalty
        step : float
        tolerance : float
        n_steps : int
            At least `steps_to_certify` of them.

        Returns
        -------
        theta : ndarray of float64

        Raises
        ------
        ValueError
            If plain steps are not known to get there; nothing has been drawn then.
        """
        self._sums.require_monotone()
        sums, alpha = self._sums, penalty.strong_convexity
        enough = penalty.is_smooth and penalty.smoothness == alpha and \
            n_steps >= steps_to_certify(sums.clip_norm, tolerance, step, alpha)
        if not enough or step * (sums.smoothness + 2.0 * alpha) > 2.0 * (1.0 + 1e-12):
            raise ValueError(f"learning_rate={step!r}, tolerance={tolerance!r}: the minimiser is "
                             "reached only with an l2 penalty, steps of at most 2 / (smoothness + "
                             f"2 alpha), and enough of them, which {n_steps} may not be.")
        sensitivity = minimiser_sensitivity(
            lipschitz=sums.clip_norm, n_samples=sums.n_samples, strong_convexity=alpha,
            tolerance=tolerance) * self._sums.rounding
        self._ledger.charge(self._event)
        found = self._accelerated(theta, penalty, tolerance, n_steps)
        if found is None:
            for _ in range(n_steps):
                theta = theta - step * self._gradient(theta, penalty)
            found = theta
        return self._released(found, sensitivity)

    def _accelerated(self, theta, penalty, tolerance, n_steps):
        """Return a point whose gradient norm is certified, or None after too many steps."""
        alpha = penalty.strong_convexity
        step = 1.0 / (self._sums.smoothness + alpha)
        root = math.sqrt(step * alpha)
        momentum = (1.0 - root) / (1.0 + root)
        point = theta
        for _ in range(n_steps):
            gradient = self._gradient(point, penalty)
            if np.linalg.norm(gradient) <= tolerance:
                return point
            following = point - step * gradient
            point = following + momentum * (following - theta)
            theta = following
        return None

    def _gradient(self, theta, penalty):
        return self._sums.gradient(theta) / self._sums.n_samples + penalty.gradient(theta)

    def _sensitivity(self, penalty, step, n_steps):
        """Bound the l2 distance between last iterates on neighbouring data."""
        sums = self._sums
        self._sums.require_monotone()
        alpha = penalty.strong_convexity
        # A ridge on some coordinates only adds to the largest curvature, not to the smallest.
        smoothness = sums.smoothness + penalty.smoothness - alpha
        if contraction(step, alpha, smoothness) > 1.0:
            # Distances, and the iterates themselves, would grow without bound.
            raise ValueError(f"learning_rate={step!r}: a step must not expand distances, so at "
                             f"most {2.0 / (smoothness + alpha):.6g} here; leave "
                             "learning_rate=None, or use solver='gd'.")
        exact = gradient_descent_sensitivity(
            lipschitz=sums.clip_norm, n_samples=sums.n_samples, step=step, n_steps=n_steps,
            smoothness=smoothness, strong_convexity=alpha)
        return exact * self._sums.rounding

    def _released(self, theta, sensitivity):
        return noised(theta, sensitivity, self._noise_multiplier, self._pure, self._stream)


def noised(theta, sensitivity, noise_multiplier, pure, stream):
    """Return theta plus noise, both on a grid far finer than the noise.

    Parameters
    ----------
    theta : ndarray of float64
        A coordinate that is not finite counts as 0.
    sensitivity : float
    noise_multiplier : float
        Scale of the noise over the sensitivity.
    pure : bool
        Whether the noise has a density proportional to ``exp(-||z|| / scale)``; else normal.
    stream : EntropyStream or KeyedStream
    """
    theta = np.where(np.isfinite(theta), theta, 0.0)
    unit = 2.0 ** (math.floor(math.log2(noise_multiplier * sensitivity)) - 30)
    # Rounding theta moves each of two neighbouring ones by up to half a unit a coordinate.
    scale = noise_multiplier * (sensitivity + unit * math.sqrt(theta.size))
    if pure:
        noise = samplers.gamma_norm_noise(stream, theta.shape, scale)
    else:
        noise = scale * samplers.standard_normal(stream, theta.shape)
    # Both are whole multiples of the unit, so their sum shows no finer bits.
    return (np.rint(theta / unit) + np.rint(noise / unit)) * unit

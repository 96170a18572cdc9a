"""Noisy gradients of the mean loss."""

from dataclasses import dataclass

import numpy as np

from dpsk._privacy import mechanisms, sampling
from dpsk._privacy.batch_plans import FullBatch, PoissonBatches
from dpsk._privacy.events import Repeated

__all__ = ["GradientOracle", "NoisyGradients"]

_NOISE_BLOCK = 1 << 15


@dataclass(frozen=True)
class NoisyGradients:
    """The declaration of `count` noisy gradients at one noise multiplier."""

    batches: FullBatch | PoissonBatches
    count: int

    def __call__(self, noise_multiplier):
        return Repeated(self.batches.release(noise_multiplier), self.count)


class GradientOracle:
    r"""Answer with ``(1/m) [ sum of clipped gradients + N(0, (z C)^2 I) ]``.

    Clipping, summing, noising and charging are one operation. The divisor `m` is the public
    expected batch size.

    Parameters
    ----------
    sums : RowSums
        Holds the rows and clips at `C`.
    declared : NoisyGradients
    noise_multiplier : float
        `z`, the noise's standard deviation on the sum over `C`.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    def __init__(self, sums, declared, noise_multiplier, stream, ledger):
        batches = declared.batches
        self._sums = sums
        self._stream = stream
        self._ledger = ledger
        self._event = batches.release(noise_multiplier)
        self._noise_std = noise_multiplier * sums.clip_norm
        self._divisor = batches.expected_size(sums.n_samples)
        self._batches = batches.batches(stream, sums.n_samples, declared.count)
        self._noise = _normal_blocks(stream, sums.model.shape, declared.count)

    def gradient(self, theta):
        """Return the noisy mean gradient at the public point `theta`.

        Parameters
        ----------
        theta : ndarray

        Returns
        -------
        gradient : ndarray of float64, like theta

        Raises
        ------
        RuntimeError
            If more answers are asked for than were declared.
        """
        self._ledger.charge(self._event)
        answer = self._sums.gradient(theta, next(self._batches))
        answer += self._noise_std * next(self._noise)
        answer /= self._divisor
        return answer

    def public_index(self, stop):
        """Draw an index below `stop` that has nothing to do with the rows."""
        return sampling.random_index(self._stream, stop)


def _normal_blocks(stream, shape, count):
    """Yield `count` fresh standard normal arrays, drawn in blocks to save calls."""
    per_block = max(1, min(count, _NOISE_BLOCK // max(1, int(np.prod(shape)))))
    for start in range(0, count, per_block):
        yield from mechanisms.standard_normal(stream, (min(per_block, count - start), *shape))

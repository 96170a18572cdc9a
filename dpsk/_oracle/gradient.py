"""Noisy gradients of the mean loss."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpsk._models import ScaleModel
from dpsk._oracle.grid_sums import GridSums, grid_bits
from dpsk._oracle.network_sums import NetworkSums
from dpsk._oracle.row_sums import RowSums, rounding_margin
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.noise import samplers

__all__ = ["GradientOracle", "normal_blocks"]

_NOISE_BLOCK = 1 << 15


class GradientOracle:
    r"""Answer with ``(1/m) [ sum of clipped gradients + N(0, (z C)^2 I) ]``.

    Clipping, summing, noising and charging are one operation. The divisor `m` is the public
    expected batch size. Where the sums lie on a grid the noise is rounded to it; elsewhere it is
    larger by a margin for their rounding.

    Parameters
    ----------
    sums : RowSums
        Holds the rows and clips at `C`.
    declared : NoisySums
    noise_multiplier : float
        `z`, the noise's standard deviation on the sum over `C`.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    @classmethod
    def open(cls, problem, declared, clip_norm, rows, noise_multiplier, stream, ledger):
        """Return an oracle over `rows`, on a grid where full batches and noise allow it.

        Parameters
        ----------
        problem : object with model and loss
        declared : NoisySums
        clip_norm : float
        rows : Rows
        noise_multiplier : float
        stream : EntropyStream or KeyedStream
        ledger : Ledger
        """
        sums = _open_sums(problem.model, problem.loss, declared, clip_norm, rows,
                          noise_multiplier)
        return cls(sums, declared, noise_multiplier, stream, ledger)

    def __init__(self, sums, declared, noise_multiplier, stream, ledger):
        batches = declared.batches
        self._sums = sums
        self._stream = stream
        self._ledger = ledger
        self._event = batches.release(noise_multiplier)
        self._noise_std = noise_multiplier * sums.clip_norm
        if sums.resolution is None:
            self._noise_std *= rounding_margin(batches.largest_size(sums.n_samples))
        self._divisor = batches.expected_size(sums.n_samples)
        self._batches = batches.batches(stream, sums.n_samples, declared.count)
        self._noise = normal_blocks(stream, sums.model.shape, declared.count)

    @property
    def arithmetic(self):
        """str : "grid" where sums and noise are exact multiples of a unit, else "float"."""
        return self._sums.arithmetic

    @property
    def noise_std(self):
        """float : standard deviation of the noise on every coordinate of an answer; public."""
        return self._noise_std / self._divisor

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
        answer, noise = self._sum_and_noise(theta, next(self._batches))
        answer += _on_grid(self._noise_std * noise, self._sums.resolution)
        answer /= self._divisor
        return answer

    def along(self, theta, declared, clip_share, noise_multiplier):
        """Return an oracle for multiples of the public `theta`, of what one number moves.

        Its points and answers have shape (1,): the derivative in the factor.

        Parameters
        ----------
        theta : ndarray
            Not zero.
        declared : NoisySums
        clip_share : float
            Clip norm over ``||theta|| radius``, which bounds the scores of a row.
        noise_multiplier : float
        """
        model = self._sums.model
        bound = float(np.linalg.norm(theta)) * model.radius
        ray = ScaleModel(model.n_outputs or 1, model.n_outputs, False, bound)
        sums = _open_sums(ray, self._sums.loss, declared, clip_share * bound,
                          self._sums.scores(theta), noise_multiplier)
        return GradientOracle(sums, declared, noise_multiplier, self._stream, self._ledger)

    def _sum_and_noise(self, theta, rows):
        if self._sums.model.is_linear:
            return self._sums.gradient(theta, rows), next(self._noise)
        # The noise of a network's many weights is drawn while the sums are made.
        with ThreadPoolExecutor(1) as aside:
            noise = aside.submit(next, self._noise)
            return self._sums.gradient(theta, rows), noise.result()


def _open_sums(model, loss, declared, clip_norm, rows, noise_multiplier):
    """Return what sums over `rows`: of a network, exact on a grid, or in floating point."""
    if not model.is_linear:
        return NetworkSums(model, loss, rows, clip_norm)
    bits = None
    if isinstance(declared.batches, FullBatch):
        bits = grid_bits(len(rows), clip_norm, noise_multiplier * clip_norm)
    if bits is None:
        return RowSums(model, loss, rows, clip_norm)
    return GridSums(model, loss, rows, clip_norm, bits)


def _on_grid(noise, resolution):
    """Round noise to multiples of a power of two; leave it where there is no grid."""
    return noise if resolution is None else np.rint(noise / resolution) * resolution


def normal_blocks(stream, shape, count):
    """Yield `count` fresh standard normal arrays, drawn in blocks to save calls."""
    per_block = max(1, min(count, _NOISE_BLOCK // max(1, int(np.prod(shape)))))
    for start in range(0, count, per_block):
        yield from samplers.standard_normal(stream, (min(per_block, count - start), *shape))

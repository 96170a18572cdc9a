r"""Gradients checked against a hold-out: thresholded answers, noisy on either side.

The rows are split by a public permutation into disjoint batches, each into a training half and a
hold-out half of m rows. With A and H the sums of clipped gradients over the halves and a scale
``s = z C``, every coordinate of an answer is

    (A + noise s) / m   if |A - H| + noise 4 s > 3 s,   else   (H + noise s) / m .

One row is in one half of one batch. Replacing it moves A or H, not both, by at most 2 C in the
norm of the clip, and |A - H| by no more. So it pays for the comparison, ``2 C / (4 s) = 1/(2 z)``,
and then, whatever the comparison said, for the answer, ``2 C / s = 2/z``: mu of Gaussian noise
with an l2 clip, epsilon of Laplace noise with an l1 clip. The answers of other batches do not
read it.

Public hold-out rows need no half of the rows and no noise on H.
"""


import numpy as np

from dpsk._oracle.grid_sums import GridSums, grid_bits
from dpsk._oracle.row_sums import RowSums, rounding_margin
from dpsk._privacy.noise import samplers, streams

__all__ = ["ThresholdOracle"]

#: The threshold, and the noise of comparisons, over the noise of answers.
_THRESHOLD, _COMPARISON = 3.0, 4.0


class ThresholdOracle:
    """Answer each batch's questions in turn, `rounds` times, then go on to the next batch.

    Comparing, clipping, summing, noising and charging are one operation. Which side answered,
    and the hold-out's exact answer, never leave. Sums and noise lie on a grid where the noise
    allows it.

    Parameters
    ----------
    batches : list of (RowSums, RowSums or PublicSums)
        Training and hold-out part of every batch, all disjoint.
    declared : ThresholdRounds
    noise_multiplier : float
        `z`: noise of an answer, on the sum, over the clip norm.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    @classmethod
    def open(cls, problem, declared, clip_norm, rows, noise_multiplier, stream, ledger):
        """Return an oracle over `rows`, split by a permutation; as `GradientOracle.open`."""
        halves = 1 if declared.public_holdout else 2
        size = len(rows) // (halves * declared.batches)
        order = streams.random_permutation(stream, len(rows))
        # Parts of equal size, so that sums compare as means do; a few rows may stay unused.
        pieces = [order[start * size:(start + 1) * size]
                  for start in range(halves * declared.batches)]
        # Laplace tails are long: the room of ten times the noise is not enough.
        spread = _COMPARISON * noise_multiplier * clip_norm * (10.0 if declared.pure else 1.0)
        bits = grid_bits(2 * size, clip_norm, spread)
        order = 1 if declared.pure else 2

        def sums(part):
            args = problem.model, problem.loss, part, clip_norm
            return RowSums(*args, order) if bits is None else GridSums(*args, bits, order)

        parts = [sums(rows.part(np.sort(piece))) for piece in pieces]
        if declared.public_holdout:
            public = PublicSums(RowSums(problem.model, problem.loss, rows.holdout, clip_norm,
                                        order), size, parts[0].resolution)
            batches = [(part, public) for part in parts]
        else:
            batches = list(zip(parts[::2], parts[1::2], strict=True))
        return cls(batches, declared, noise_multiplier, stream, ledger)

    def __init__(self, batches, declared, noise_multiplier, stream, ledger):
        self._batches = batches
        self._groups = ledger.groups(len(batches))
        self._declared = declared
        self._releases = declared.releases(noise_multiplier)
        sums = batches[0][0]
        self._scale = noise_multiplier * sums.clip_norm
        if sums.resolution is None:
            self._scale *= rounding_margin(sums.n_samples)
        self._draw = samplers.laplace if declared.pure else samplers.standard_normal
        self._stream = stream
        self._answered = 0

    @property
    def arithmetic(self):
        """str : "grid" where sums and noise are exact multiples of a unit, else "float"."""
        return self._batches[0][0].arithmetic

    def gradient(self, theta):
        """Return the checked noisy mean gradient of the batch whose turn it is.

        Parameters
        ----------
        theta : ndarray

        Returns
        -------
        gradient : ndarray of float64, like theta

        Raises
        ------
        RuntimeError
            If every batch has answered as often as was declared.
        """
        turn = min(self._answered // self._declared.rounds, len(self._batches) - 1)
        training, holdout = self._batches[turn]
        for event in self._releases:
            self._groups[turn].charge(event)
        self._answered += 1
        own, other = training.gradient(theta), holdout.gradient(theta)
        unit, scale = training.resolution, self._scale
        gap = np.abs(own - other) + self._noise(theta.shape, _COMPARISON * scale, unit)
        fires = gap > _THRESHOLD * scale
        noise = self._noise(theta.shape, scale, unit)
        if self._declared.public_holdout:
            noise[~fires] = 0.0
        return (np.where(fires, own, other) + noise) / training.n_samples

    def _noise(self, shape, scale, unit):
        noise = scale * self._draw(self._stream, shape)
        return noise if unit is None else np.rint(noise / unit) * unit


class PublicSums:
    """Sums over public rows, as if there were `size` of them.

    They are rounded to the grid of the training sums: noise that is rounded to a grid covers
    differences that lie on it.
    """

    def __init__(self, sums, size, resolution):
        self._sums, self._resolution = sums, resolution
        self._factor = size / sums.n_samples

    def gradient(self, theta):
        """Return the sum of clipped gradients at `theta` over the public rows, rescaled."""
        total = self._factor * self._sums.gradient(theta)
        unit = self._resolution
        return total if unit is None else np.rint(total / unit) * unit

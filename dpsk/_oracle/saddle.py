"""Noisy gradients of both blocks of a saddle problem, in one release."""


import numpy as np

from dpsk._oracle.row_sums import rounding_margin
from dpsk._oracle.saddle_sums import SaddleSums
from dpsk._privacy.noise import samplers

__all__ = ["SaddleOracle"]


class SaddleOracle:
    r"""Answer with ``(1/m) [ sums of clipped gradients + noise ]`` of both blocks at once.

    Both sums are over one batch and leave together, so that one event covers the pair; two
    events would need two batches.

    Parameters
    ----------
    sums : SaddleSums
    declared : JointSums
    noise_multiplier : float
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    arithmetic = "float"

    @classmethod
    def open(cls, problem, declared, clips, rows, noise_multiplier, stream, ledger):
        """Return an oracle over `rows`.

        Parameters
        ----------
        problem : object with model and loss
        declared : JointSums
        clips : (float, float)
            Of the primal and of the dual gradient of one row.
        rows : Rows
        noise_multiplier : float
        stream : EntropyStream or KeyedStream
        ledger : Ledger
        """
        sums = SaddleSums(problem.model, problem.loss, rows, *clips)
        return cls(sums, declared, noise_multiplier, stream, ledger)

    def __init__(self, sums, declared, noise_multiplier, stream, ledger):
        batches, share = declared.batches, declared.dual_share
        self._sums, self._stream, self._ledger = sums, stream, ledger
        self._event = batches.release(noise_multiplier)
        unit = noise_multiplier * rounding_margin(batches.largest_size(sums.n_samples))
        self._primal_std = unit * sums.primal_clip / np.sqrt(1.0 - share)
        self._dual_std = unit * sums.dual_clip / np.sqrt(share)
        self._divisor = batches.expected_size(sums.n_samples)
        self._batches = batches.batches(stream, sums.n_samples, declared.count)

    def gradients(self, primal, dual):
        """Return the noisy mean gradients at public points.

        Parameters
        ----------
        primal : ndarray of shape (dimension + n_extra,)
        dual : ndarray

        Returns
        -------
        primal_gradient, dual_gradient : ndarray of float64

        Raises
        ------
        RuntimeError
            If more answers are asked for than were declared.
        """
        self._ledger.charge(self._event)
        answers = self._sums.gradients(primal, dual, next(self._batches))
        for answer, std in zip(answers, (self._primal_std, self._dual_std), strict=True):
            answer += std * samplers.standard_normal(self._stream, answer.shape)
            answer /= self._divisor
        return answers

    @property
    def dual_set(self):
        """Interval or Simplex : where the dual variable lives; public."""
        return self._sums.loss.dual_set

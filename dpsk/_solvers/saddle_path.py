"""What the loops of the saddle solvers share: falling steps, and the mean of late points."""

import numpy as np

from dpsk._solvers.descent import ITERATES

__all__ = ["TailMean", "falling_step"]


def falling_step(first, t, n_steps):
    """Return the step at time t, which falls linearly from `first` to nothing."""
    return first * (1.0 - t / n_steps)


class TailMean:
    """Mean of the late ones of `n_steps` points.

    Parameters
    ----------
    n_steps : int
    iterate : one of ITERATES
        "random" is the last, of as many steps as were drawn.
    """

    def __init__(self, n_steps, iterate):
        share = ITERATES[iterate] or 0.0
        self._first = min(n_steps - 1, int(np.ceil(n_steps * (1.0 - share))))
        self._seen, self._total = 0, 0.0

    def add(self, primal, dual):
        """Take notice of the next point."""
        if self._seen >= self._first:
            self._total = self._total + np.concatenate([primal, dual])
        self._seen += 1

    def mean(self):
        """Return the mean, primal numbers first, then dual ones."""
        return self._total / (self._seen - self._first)

"""What the loops of the saddle solvers share: the mean of late points."""

import numpy as np

from dpsk._solvers.descent import first_kept

__all__ = ["TailMean"]


class TailMean:
    """Mean of the late ones of `n_steps` points.

    Parameters
    ----------
    n_steps : int
    iterate : one of ITERATES
        "random" is the last, of as many steps as were drawn.
    """

    def __init__(self, n_steps, iterate):
        self._first = first_kept(n_steps, iterate)
        self._seen, self._total = 0, 0.0

    def add(self, primal, dual):
        """Take notice of the next point."""
        if self._seen >= self._first:
            self._total = self._total + np.concatenate([primal, dual])
        self._seen += 1

    def mean(self):
        """Return the mean, primal numbers first, then dual ones."""
        return self._total / (self._seen - self._first)

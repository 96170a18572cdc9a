r"""Scores of a threshold, and how far one row that is replaced moves them.

With TP and FP the rows of the second and of the first class that are taken for the second, and
released numbers :math:`\tilde n_1, \tilde n_0` of rows of either class,

.. math:: \frac{TP + n_0 - FP}{n}, \qquad
          \frac{TP}{2 \tilde n_1} + \frac{n_0 - FP}{2 \tilde n_0}, \qquad
          \frac{2\, TP}{\tilde n_1 + TP + FP}

are accuracy, balanced accuracy and F1. In the first two a row adds 0 or a weight, which is
:math:`1 / n`, or that of its class. Between two thresholds the difference that a replaced row
makes varies within an interval as long as the two weights together: that is what a choice costs.
In the third TP and TP + FP move by at most 1, and the score by at most
:math:`2 / (\tilde n_1 + 1)`: with D the larger of the two denominators, hence
:math:`D \ge \tilde n_1 + 1`, the cases are :math:`2 (D - TP) / (D (D - 1))` for a TP that is
lost, :math:`2 TP / (D (D - 1))` for an FP, :math:`2 / D` for one that becomes the other, and
:math:`TP \ge 1` in the first and :math:`TP \le D - 1` in the second.

No score of the third kind falls where another one rises, as it rises with TP and falls with FP
at any :math:`\tilde n_1 > 0`. A row of the second class is in TP of all thresholds up to its
score, one of the first class in FP of these. If the class stays, a score that rises only adds to
TP, or only to FP, and one that falls only takes away. If the second class becomes the first, TP
falls or stays and FP rises or stays, whatever the two scores: F1 falls or stays at every
threshold; the other way round it rises or stays. Differences of one sign are no further apart
than the largest of them: one :math:`2 / (\tilde n_1 + 1)` is all that a choice costs.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["THRESHOLD_SCORES", "ThresholdScore", "confusion"]

THRESHOLD_SCORES = ("accuracy", "balanced_accuracy", "f1")


def confusion(scores, positive, thresholds):
    """Return TP and FP of every threshold, float64, shape (k,).

    Parameters
    ----------
    scores : ndarray of shape (n,)
        One that is no number is below all thresholds.
    positive : ndarray of bool, shape (n,)
    thresholds : ndarray of shape (k,)
        Rising.
    """
    # How many of the thresholds a row reaches.
    reached = np.searchsorted(thresholds, scores, side="right")
    reached[np.isnan(scores)] = 0
    counts = [np.bincount(reached[part], minlength=len(thresholds) + 1)
              for part in (positive, ~positive)]
    # Those that reach a threshold reach all below it.
    return tuple(each[::-1].cumsum()[::-1][1:].astype(np.float64) for each in counts)


@dataclass(frozen=True)
class ThresholdScore:
    """A score of thresholds on n rows, of which larger is better.

    Attributes
    ----------
    name : str
        One of `THRESHOLD_SCORES`.
    n_samples : int
    n_positive : float or None
        The released number of rows of the second class; None for accuracy.
    """

    name: str
    n_samples: int
    n_positive: float | None = None

    @property
    def weights(self):
        """(float, float) : what a row of the first and of the second class adds."""
        if self.name == "accuracy":
            return (1.0 / self.n_samples,) * 2
        return 0.5 / (self.n_samples - self.n_positive), 0.5 / self.n_positive

    @property
    def moved(self):
        """float : how far a replaced row moves a score at most."""
        return 2.0 / (self.n_positive + 1.0) if self.name == "f1" else max(self.weights)

    @property
    def error_of_count(self):
        """float : how far a score is off at most for a count that is off by 1, about."""
        if self.name == "f1":
            return 1.0 / self.n_positive
        return max(self.weights) / min(self.n_positive, self.n_samples - self.n_positive)

    @property
    def width(self):
        """float : how far the differences that a replaced row makes are apart at most."""
        # No F1 falls where another one rises.
        return self.moved if self.name == "f1" else sum(self.weights)

    def values(self, scores, positive, thresholds):
        """Return the score of every threshold, shape (k,)."""
        right, wrong = confusion(scores, positive, thresholds)
        if self.name == "f1":
            return 2.0 * right / (self.n_positive + right + wrong)
        first, second = self.weights
        return second * right + first * (np.count_nonzero(~positive) - wrong)

r"""Scores of a decision threshold, and their sensitivity to replacing one row.

TP and FP count the rows of the second and of the first class that are predicted as the second.
With the released numbers :math:`\tilde n_1, \tilde n_0` of rows of the second and first class,

.. math:: \frac{TP + n_0 - FP}{n}, \qquad
          \frac{TP}{2 \tilde n_1} + \frac{n_0 - FP}{2 \tilde n_0}, \qquad
          \frac{2\, TP}{\tilde n_1 + TP + FP}

are accuracy, balanced accuracy and F1. In the first two, a row adds 0 or a weight, which is
:math:`1 / n` or the weight of its class. Replacing a row changes the scores of all thresholds.
These changes lie in an interval as long as the sum of the two weights, which is the sensitivity
of a choice among thresholds.

In F1, TP and TP + FP change by at most 1, and the score by at most :math:`2 / (\tilde n_1 + 1)`.
Let D be the larger of the two denominators, hence :math:`D \ge \tilde n_1 + 1`. The change is
:math:`2 (D - TP) / (D (D - 1))` if a TP is lost, where :math:`TP \ge 1`. It is
:math:`2 TP / (D (D - 1))` if an FP is lost, where :math:`TP \le D - 1`. It is :math:`2 / D` if
one becomes the other. Each is at most :math:`2 / D`.

F1 changes in the same direction at all thresholds, as it rises with TP and falls with FP at any
:math:`\tilde n_1 > 0`. A row of the second class counts in TP at all thresholds up to its score,
and a row of the first class in FP. If the class stays and the row's score rises, only TP or only
FP can grow; if the score falls, it can only shrink. If the second class becomes the first, TP
cannot rise and FP cannot fall, whatever the two scores, so F1 cannot rise at any threshold. In
the reverse case F1 cannot fall. Changes of one sign differ by at most the largest of them, so
the sensitivity of a choice is :math:`2 / (\tilde n_1 + 1)`.
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
        NaN is below all thresholds.
    positive : ndarray of bool, shape (n,)
    thresholds : ndarray of shape (k,)
        In increasing order.
    """
    # The number of thresholds that each row reaches.
    reached = np.searchsorted(thresholds, scores, side="right")
    reached[np.isnan(scores)] = 0
    counts = [np.bincount(reached[part], minlength=len(thresholds) + 1)
              for part in (positive, ~positive)]
    # A row that reaches a threshold also reaches all lower ones.
    return tuple(each[::-1].cumsum()[::-1][1:].astype(np.float64) for each in counts)


@dataclass(frozen=True)
class ThresholdScore:
    """A score of thresholds on n rows; larger is better.

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
        """(float, float) : weight of a correct row of the first and the second class."""
        if self.name == "accuracy":
            return (1.0 / self.n_samples,) * 2
        return 0.5 / (self.n_samples - self.n_positive), 0.5 / self.n_positive

    @property
    def moved(self):
        """float : largest change of a score when one row is replaced."""
        return 2.0 / (self.n_positive + 1.0) if self.name == "f1" else max(self.weights)

    @property
    def error_of_count(self):
        """float : approximate largest error of a score if the count is off by 1."""
        if self.name == "f1":
            return 1.0 / self.n_positive
        return max(self.weights) / min(self.n_positive, self.n_samples - self.n_positive)

    @property
    def width(self):
        """float : largest spread over thresholds of the changes by replacing one row."""
        # F1 changes in the same direction at all thresholds.
        return self.moved if self.name == "f1" else sum(self.weights)

    def values(self, scores, positive, thresholds):
        """Return the score of every threshold, shape (k,)."""
        right, wrong = confusion(scores, positive, thresholds)
        if self.name == "f1":
            return 2.0 * right / (self.n_positive + right + wrong)
        first, second = self.weights
        return second * right + first * (np.count_nonzero(~positive) - wrong)

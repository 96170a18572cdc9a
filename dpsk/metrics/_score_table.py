"""Metrics of a noisy histogram of scores by label, all of them post-processing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._parameters import check_integer, check_real
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import _curves
from dpsk.metrics._estimate import Estimate
from dpsk.metrics._scores import ScoreBins
from dpsk.metrics._table import TableEvaluation

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["ScoreTable"]

#: The share of ties among pairs of rows from which on an area is known roughly only.
_MANY_TIES = 1.0 / 3.0


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable(TableEvaluation):
    """A noisy histogram of scores, the negative label first, and its metrics.

    Attributes
    ----------
    bins : ScoreBins
        Public.
    """

    bins: ScoreBins

    def prevalence(self) -> Estimate:
        """Return the share of rows that are positive, an `Estimate`.

        Returns
        -------
        share : Estimate
            A number in [0, 1].
        """
        return self._estimate(lambda counts: counts[..., 1, :].sum(axis=-1) / self.n_samples)

    def confusion_matrix(self, threshold: float | None = None) -> Estimate:
        """Return noisy counts of rows by label and prediction, an `Estimate`.

        Parameters
        ----------
        threshold : float or None, default=None
            Rows of at least that score are predicted positive. None: the middle of the range of
            scores, 0 where they have none. Between edges counts are interpolated, and an eighth
            of what the bin may move is in the error.

        Returns
        -------
        matrix : Estimate
            Arrays of shape (2, 2): rows are labels, columns predictions, the positive one last.
        """
        return self._at(threshold, lambda cells: cells, (0.0, float(self.n_samples)))

    def accuracy(self, threshold: float | None = None) -> Estimate:
        """Return the share of rows that are predicted right, an `Estimate`.

        Parameters
        ----------
        threshold : float or None, default=None
            As for `confusion_matrix`.

        Returns
        -------
        accuracy : Estimate
            A number in [0, 1].
        """
        return self._at(threshold, lambda cells: (
            cells[..., 0, 0] + cells[..., 1, 1]) / self.n_samples)

    def balanced_accuracy(self, threshold: float | None = None) -> Estimate:
        """Return the mean of the shares of either label that are predicted right, an `Estimate`.

        Parameters
        ----------
        threshold : float or None, default=None
            As for `confusion_matrix`.

        Returns
        -------
        accuracy : Estimate
            A number in [0, 1].
        """
        return self._share_at(threshold, _balanced)

    def recall(self, threshold: float | None = None) -> Estimate:
        """Return the share of positive rows that are predicted so, an `Estimate`.

        Parameters
        ----------
        threshold : float or None, default=None
            As for `confusion_matrix`.

        Returns
        -------
        recall : Estimate
            A number in [0, 1].
        """
        return self._share_at(threshold, lambda cells: (
            cells[..., 1, 1], cells[..., 1, :].sum(axis=-1)))

    def precision(self, threshold: float | None = None) -> Estimate:
        """Return the share of rows predicted positive that are so, an `Estimate`.

        Parameters
        ----------
        threshold : float or None, default=None
            As for `confusion_matrix`.

        Returns
        -------
        precision : Estimate
            A number in [0, 1].
        """
        return self._share_at(threshold, lambda cells: (
            cells[..., 1, 1], cells[..., :, 1].sum(axis=-1)))

    def f1(self, threshold: float | None = None) -> Estimate:
        """Return the harmonic mean of precision and recall, an `Estimate`.

        Parameters
        ----------
        threshold : float or None, default=None
            As for `confusion_matrix`.

        Returns
        -------
        f1 : Estimate
            A number in [0, 1].
        """
        return self._share_at(threshold, lambda cells: (
            2.0 * cells[..., 1, 1], cells[..., :, 1].sum(axis=-1) + cells[..., 1, :].sum(axis=-1)))

    def roc_auc(self) -> Estimate:
        """Return the area under the ROC curve, an `Estimate`.

        Where scores crowd into few bins its error is large, with a `PrivacyWarning`.

        Returns
        -------
        area : Estimate
            A number in [0, 1].
        """
        return self._extrapolated(_curves.won_pairs, _curves.pairs,
                                  self._warned_ties("roc_auc") / 4.0)

    def average_precision(self) -> Estimate:
        """Return the average precision, an `Estimate`.

        Returns
        -------
        precision : Estimate
            A number in [0, 1].
        """
        self._warned_ties("average_precision")
        return self._extrapolated(_curves.precisions,
                                  lambda counts: counts[..., 1, :].sum(axis=-1))

    def brier_score(self) -> Estimate:
        """Return the mean square between label and probability, an `Estimate`.

        Returns
        -------
        loss : Estimate
            A number in [0, 1].

        Raises
        ------
        ValueError
            If scores are not probabilities: if their range is not (0, 1).
        """
        self._check_probabilities("brier_score")
        return self._estimate(lambda counts: self._between(_curves.brier, counts)
                              / self.n_samples,
                              hidden=self._step(_curves.brier) / self.n_samples)

    def lift(self, fraction: float = 0.1) -> Estimate:
        """Return how many times more positives the best rows hold than all do, an `Estimate`.

        Parameters
        ----------
        fraction : float in (0, 1], default=0.1
            Of all rows, those of the highest scores.

        Returns
        -------
        lift : Estimate
            >= 0; 1 for scores without information.
        """
        fraction = check_real("fraction", fraction, low=0, high=1, open_low=True,
                              remedy="a number in (0, 1]")

        def held(counts):
            return (_curves.positives_of(counts, fraction),
                    fraction * counts[..., 1, :].sum(axis=-1))

        return self._share(held, (0.0, 1.0 / fraction),
                           _curves.hidden_positives(self.counts, fraction) / fraction)

    def roc_curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the ROC curve at the edges of bins.

        Returns
        -------
        fpr, tpr : ndarray of shape (n_bins + 1,)
            Increasing: cumulative noisy counts, made so by the middle of the nearest increasing
            curves above and below.
        thresholds : ndarray of shape (n_bins + 1,)
            Decreasing, the first infinite.
        """
        negative, positive = self._rates(self.counts)
        return negative, positive, self._thresholds()

    def precision_recall_curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return precision and recall at the edges of bins.

        Returns
        -------
        precision, recall : ndarray of shape (n_bins + 1,)
            Recall falls from 1 to 0, where precision is 1.
        thresholds : ndarray of shape (n_bins,)
            Increasing.
        """
        above = _curves.monotone(_curves.positives_above(self.counts))
        precision, recall = _precision_recall(above)
        return precision[::-1], recall[::-1], self.bins.edges[:-1]

    def calibration_curve(self, n_bins: int = 5) -> tuple[Estimate, FloatArray]:
        """Return how often rows are positive whose probability is about the same.

        Parameters
        ----------
        n_bins : int, default=5
            Groups of about as many neighboring bins each, at most the number of bins.

        Returns
        -------
        prob_true : Estimate
            Arrays of shape (n_bins,).
        prob_pred : ndarray of shape (n_bins,)
            The mean of the middles of bins, weighted by noisy counts.

        Raises
        ------
        ValueError
            If scores are not probabilities, or `n_bins` is out of range.
        """
        self._check_probabilities("calibration_curve")
        most = len(self.bins)
        n_bins = check_integer("n_bins", n_bins, low=1, high=most, remedy=f"an int in [1, {most}]")
        starts = np.linspace(0, most, n_bins, endpoint=False).astype(int)

        def shares(counts):
            groups = np.add.reduceat(counts, starts, axis=-1)
            return groups[..., 1, :], groups.sum(axis=-2)

        edges = self.bins.edges
        # Noise must not move a mean out of its group, nor leave it without weight.
        weights = np.maximum(self.counts.sum(axis=0), 1.0)
        middles = weights * (edges[:-1] + edges[1:]) / 2.0
        return (self._share(shares),
                np.add.reduceat(middles, starts) / np.add.reduceat(weights, starts))

    def roc_band(self, level: float = 0.95,
                 n_points: int = 101) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the ROC curve with a band around it.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            How often the band covers the curve at one point.
        n_points : int, default=101
            Of the grid between 0 and 1.

        Returns
        -------
        fpr, tpr, low, high : ndarray of shape (n_points,)
            False positive rates, and true ones with the ends of the band.
        """
        grid = np.linspace(0.0, 1.0, n_points)
        return (grid, *self._band(level, lambda counts: np.interp(grid, *self._rates(counts))))

    def precision_recall_band(
            self, level: float = 0.95,
            n_points: int = 101) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return precision by recall with a band around it.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            How often the band covers the curve at one point.
        n_points : int, default=101
            Of the grid between 0 and 1.

        Returns
        -------
        recall, precision, low, high : ndarray of shape (n_points,)
            Recall, and precision with the ends of the band.
        """
        grid = np.linspace(0.0, 1.0, n_points)

        def curve(counts):
            above = _curves.monotone(_curves.positives_above(counts))
            precision, recall = _precision_recall(above)
            return np.interp(grid, recall, precision)

        return (grid, *self._band(level, curve))

    def _band(self, level, curve):
        value = curve(self.counts)
        error = np.std([curve(counts) for counts in self._draws()], axis=0)
        low, high = Estimate(value, error, (0.0, 1.0)).interval(level)
        return value, low, high

    def _rates(self, counts):
        above = _curves.monotone(_curves.positives_above(counts))
        return above / above[:, -1:]

    def _thresholds(self):
        """Return the edges from which up rows are predicted positive, falling; the first is none.
        """
        edges = self.bins.edges
        return np.append(np.inf, edges[-2::-1])

    def _at(self, threshold, metric, bounds=(0.0, 1.0)):
        """Return a metric of the cells (..., label, prediction) at a threshold."""
        at, ends = self._cells(threshold)
        low, high = (metric(end) for end in ends)
        return self._estimate(lambda counts: metric(at(counts)), bounds,
                              np.abs(high - low) / 8.0)

    def _share_at(self, threshold, parts):
        """Return a ratio of such cells; `parts` gives its part and its whole."""
        at, ends = self._cells(threshold)
        low, high = (_curves.ratio(*parts(end)) for end in ends)
        return self._share(lambda counts: parts(at(counts)), hidden=abs(high - low) / 8.0)

    def _cells(self, threshold):
        """Return what makes such cells of counts, and those of a bin that is cut at either end."""
        threshold = self.bins.middle if threshold is None else check_real(
            "threshold", threshold, remedy="None, or a finite number")
        share = self.bins.above(threshold)

        def at(counts, share=share):
            return np.stack([counts @ (1.0 - share), counts @ share], axis=-1)

        cut = (share > 0.0) & (share < 1.0)
        return at, [at(self.counts, np.where(cut, end, share)) for end in (0.0, 1.0)]

    def _warned_ties(self, what):
        """Return the share of pairs of rows that are ties, and warn, or 0 where these are few.

        Beyond, bins are too wide for what is extrapolated from them. Half the share is by how
        much the order of ties can move an area, which two standard errors are to span.
        """
        share = float(_curves.tied_pairs(self.counts))
        # Draws take longer than the area itself, and few tables have that many ties.
        if (share <= _MANY_TIES
                or share - 2.0 * np.std(_curves.tied_pairs(self._draws())) <= _MANY_TIES):
            return 0.0
        warnings.warn(
            f"{what}: scores crowd into few bins, by the noisy counts, so that it is known "
            "roughly only; give bins= edges where scores are, such as [-0.2, -0.1, 0.0, 0.1], or "
            "score_range= a range that they fill, or None where they are no probabilities; "
            "scorers take bins= alone.",
            PrivacyWarning, stacklevel=3)
        return share

    def _extrapolated(self, part, whole, hidden=0.0):
        """Return the ratio of a part whose error is as the square of a bin to an exact whole."""
        step = _curves.ratio(self._step(part), whole(self.counts))
        return self._share(lambda counts: (self._between(part, counts), whole(counts)),
                           hidden=np.hypot(hidden, step))

    def _between(self, metric, counts):
        """Return a metric of counts and edges less what its bins hide, as by two pairings."""
        edges = self.bins.edges
        return metric(counts, edges) + np.mean(_curves.steps(metric, counts, edges), axis=0)

    def _step(self, metric):
        """Return the error of what bins hide."""
        return np.hypot(*_curves.steps(metric, self.counts, self.bins.edges))

    def _check_probabilities(self, what):
        self.bins.check_probabilities(what)


def _balanced(cells):
    """Return the mean recall of both labels as one ratio, of products of their sizes."""
    sizes = cells.sum(axis=-1)
    return ((cells[..., 0, 0] * sizes[..., 1] + cells[..., 1, 1] * sizes[..., 0]) / 2.0,
            sizes.prod(axis=-1))


def _precision_recall(above):
    """Return precision and recall of cumulative counts, recall rising from 0."""
    precision = above[1] / np.maximum(above.sum(axis=0), 1e-300)
    precision[above.sum(axis=0) <= 0.0] = 1.0
    return precision, above[1] / above[1, -1]

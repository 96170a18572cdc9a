"""Curves of a noisy histogram of scores by label, as post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._parameters import check_choice, check_integer
from dpsk.metrics import _curves
from dpsk.metrics._estimate import Estimate, between
from dpsk.metrics._scores import ScoreBins
from dpsk.metrics._table import TableEvaluation

if TYPE_CHECKING:
    from dpsk._typing import FloatArray

__all__ = ["CurveTable", "check_groups"]

#: Assumed error of an area by two normal distributions, as for 5,000 rows of logistic scores.
_MISFIT = 0.02


@dataclass(frozen=True, eq=False, repr=False)
class CurveTable(TableEvaluation):
    """A noisy histogram of scores, the negative label first, and its curves.

    Attributes
    ----------
    bins : ScoreBins
        Bins of the scores, public or released.
    """

    bins: ScoreBins

    def roc_curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the ROC curve at the edges of bins.

        Returns
        -------
        fpr, tpr : ndarray of shape (n_bins + 1,)
            Increasing rates, from cumulative noisy counts made monotone: the mean of the nearest
            increasing curves above and below.
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
        precision, recall = _precision_recall(self.counts)
        return precision[::-1], recall[::-1], self.bins.edges[:-1]

    def calibration_curve(self, n_bins: int = 5,
                          strategy: str = "quantile") -> tuple[Estimate, FloatArray]:
        """Return the shares of positive rows in groups of similar probability.

        Parameters
        ----------
        n_bins : int, default=5
            Largest number of groups of neighboring bins.
        strategy : {"quantile", "uniform"}, default="quantile"
            "quantile": groups have about the same number of rows, by noisy counts, and so similar
            errors. "uniform", scikit-learn's default: equal widths; groups without bins are left
            out.

        Returns
        -------
        prob_true : Estimate
            Shares of positives: arrays of shape (n_groups,), with at most n_bins groups.
        prob_pred : ndarray of shape (n_groups,)
            The mean of the centers of bins, weighted by noisy counts.

        Raises
        ------
        ValueError
            If scores are not probabilities, or a parameter is out of range.
        """
        self.bins.check_probabilities("calibration_curve")
        n_bins = check_groups(n_bins, strategy)
        places = self.bins.centers
        if strategy == "quantile":
            held = np.maximum(self.counts.sum(axis=0), 0.0)
            # Never 0, as noisy counts sum to the number of rows.
            places = (np.cumsum(held) - held / 2.0) / held.sum()
        groups = np.minimum((n_bins * places).astype(int), n_bins - 1)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))

        def shares(counts):
            groups = np.add.reduceat(counts, starts, axis=-1)
            return groups[..., 1, :], groups.sum(axis=-2)

        # Positive weights keep each mean inside of its group.
        weights = np.maximum(self.counts.sum(axis=0), 1.0)
        middles = weights * self.bins.centers
        return (self._share(shares),
                np.add.reduceat(middles, starts) / np.add.reduceat(weights, starts))

    def roc_band(self, level: float = 0.95,
                 n_points: int = 101) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the ROC curve with a band around it.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Coverage of the band at each point of the curve.
        n_points : int, default=101
            Number of points of the grid from 0 to 1.

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
            Coverage of the band at each point of the curve.
        n_points : int, default=101
            Number of points of the grid from 0 to 1.

        Returns
        -------
        recall, precision, low, high : ndarray of shape (n_points,)
            Recall, and precision with the ends of the band.
        """
        grid = np.linspace(0.0, 1.0, n_points)

        def curve(counts):
            precision, recall = _precision_recall(counts)
            return np.interp(grid, recall, precision)

        return (grid, *self._band(level, curve))

    @property
    def _tied(self):
        return np.array(self.bins.tied or [0.0] * len(self.bins))

    @property
    def _alone(self):
        return np.array(self.bins.crowded or [0.0] * len(self.bins))

    @property
    def _crowded(self):
        """Shares of bins whose rows may have nearly one score, or that have too many pairs."""
        spread = 1.0 - self._tied - self._alone
        return self._alone + bool(self.bins.tied) * spread * _curves.lumps(
            self.counts, self.noise_scale, spread)

    @property
    def _any_order(self):
        """Shares of bins whose rows may be in any order: crowds, and all of public bins."""
        return self._crowded if self.bins.tied else np.ones(len(self.bins))

    def _toward_law(self, found):
        """Shrink an area toward that of two normal laws, as far as noise explains the gap.

        Shrinkage is stronger the rarer one label is, as most noise is on the rarer label. The
        interval does not change.
        """
        tables = self._draws()
        pairs = _curves.pairs(tables)
        some = pairs > 0.2 * _curves.pairs(self.counts)
        noise = np.var((_curves.won_pairs(tables) / np.where(some, pairs, 1.0)
                        - _curves.law_areas(self.counts, tables))[some])
        if np.isnan(found.value) or not noise > 0.0:
            return found
        off = found.value - float(_curves.law_areas(self.counts, self.counts))
        kept = max(1.0 - noise / max(off**2, 1e-300), _MISFIT**2 / (_MISFIT**2 + noise))
        sizes = np.sort(self.counts.sum(axis=1))
        moved = (1.0 - kept) * max(1.0 - float(sizes[0] / sizes[1])**2, 0.0)
        return between(found.value - moved * off, *found.interval(), found.bounds,
                       found.note)

    def _band(self, level, curve):
        def curves(tables):
            return np.array([curve(each) for each in tables.reshape(-1, *self.counts.shape)])

        value = curve(self.counts)
        error = np.hypot(np.std(curves(self._draws()), axis=0), self._sampling_errors(curves))
        low, high = Estimate(value, error, (0.0, 1.0)).interval(level)
        return value, low, high

    def _rates(self, counts):
        above = _above(counts)
        return above / above[:, -1:]

    def _thresholds(self):
        """Return the decreasing thresholds of the curve; the first is infinite."""
        edges = self.bins.edges
        return np.append(np.inf, edges[-2::-1])


def check_groups(n_bins, strategy):
    """Return the checked number of groups of a calibration curve, or raise a ValueError."""
    check_choice("strategy", strategy, ["quantile", "uniform"])
    return check_integer("n_bins", n_bins, low=1, high=4096, remedy="an int in [1, 4096]")


def _above(counts):
    """Return increasing numbers of rows of each label above every edge."""
    return _curves.monotone(_curves.positives_above(counts))


def _precision_recall(counts):
    """Return precision and recall at the edges of bins, with increasing recall."""
    above = _above(counts)
    precision = above[1] / np.maximum(above.sum(axis=0), 1e-300)
    precision[above.sum(axis=0) <= 0.0] = 1.0
    return precision, above[1] / above[1, -1]

"""Metrics computed from a noisy histogram of scores by label, as post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from dpsk._defaults.evaluation import LOSS_REACH, LOSS_WEIGHT, ORDER, WIDTHS, WIDTHS_SHARE
from dpsk._parameters import check_real
from dpsk.metrics import _curves
from dpsk.metrics._curve_table import CurveTable
from dpsk.metrics._estimate import Estimate, enclosing
from dpsk.metrics._inputs import released_floor
from dpsk.metrics._scores import expected_log_losses, expected_losses, log_losses

__all__ = ["ScoreTable"]

#: Share of ties among positive-negative pairs above which ranking metrics are only rough.
_MANY_TIES = 1.0 / 3.0
#: Standard error of the average precision from the random order of rows within a bin, in units of
#: the largest effect of that order over the root of the positives. Measured: .4 to .9 for
#: logistic, crowded and bimodal scores.
_LUCK = 0.5
#: Lower bound on the order by the common law, where it divides the order from neighboring bins.
_ORDERLY = 0.1
#: Approximate ratio of the noise on the rows of a cell to the noise on a count of a bin.
_CELLS = 2.0 * math.sqrt(WIDTHS * (1.0 - WIDTHS_SHARE) / WIDTHS_SHARE / (2.0 + LOSS_WEIGHT**2))


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable(CurveTable):
    """A noisy histogram of scores, the negative label first, and its metrics.

    Attributes
    ----------
    squared_loss : float
        Noisy sum over rows of the squared loss minus the squared loss at the center of the bin;
        0 where scores are not probabilities.
    loss_noise : float
        Standard deviation of the noise on `squared_loss`.
    log_loss_floor : float or None
        Smaller probabilities count as this value in the log loss; None: no log loss was released.
    log_loss_left, log_loss_noise : float
        Noisy sum of log losses minus those expected from the bins, and its noise.
    """

    squared_loss: float = 0.0
    loss_noise: float = 0.0
    log_loss_floor: float | None = None
    log_loss_left: float = 0.0
    log_loss_noise: float = 0.0

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
            Rows with at least this score are predicted positive. None: the threshold of the
            evaluation, `bins.threshold`, which is an edge. Between edges, intervals cover every
            possible number of rows of that bin above the threshold. To avoid that, declare the
            threshold when evaluating.

        Returns
        -------
        matrix : Estimate
            Arrays of shape (2, 2): rows are labels, columns predictions, the positive label last.
        """
        return self._at(threshold, lambda cells: cells, (0.0, float(self.n_samples)))

    def accuracy(self, threshold: float | None = None) -> Estimate:
        """Return the share of rows that are predicted correctly, an `Estimate`.

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
        """Return the mean recall of both labels, an `Estimate`.

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
        """Return the share of positive rows predicted positive, an `Estimate`.

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
        """Return the share of positives among rows predicted positive, an `Estimate`.

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

        If most scores fall into few bins, its error is large, and its `note` says so.

        Returns
        -------
        area : Estimate
            A number in [0, 1].
        """
        def area(crowded, way):
            spread = 1.0 - self._tied - crowded
            mixed = _curves.mixed_pairs(self.counts, spread)

            def ordered(counts):
                area, ties = _curves.told(counts)
                apart = math.sqrt(2.0) * ndtri(area)
                order = np.clip(ORDER * np.sign(apart) * np.abs(apart)**1.5 * ties, -1.0, 1.0)
                # A share that rises linearly by s over a bin of N rows adds s N^2 / 12 won pairs.
                rises, _ = _curves.slopes(counts, self.noise_scale)
                return (order * (counts.prod(axis=-2) * spread).sum(axis=-1) / 2.0 + mixed,
                        (rises * counts.sum(axis=-2)**2 * spread).sum(axis=-1) / 12.0)

            def won(counts):
                return (_curves.won_pairs(counts) + (sum(ordered(counts)) + (
                    counts.prod(axis=-2) * way * crowded).sum(axis=-1)) / 2.0,
                    _curves.pairs(counts))

            # For both estimates a and b: the root of ((a + b) / 2)^2 + ((a - b) / 2)^2.
            hidden = np.hypot(*ordered(self.counts)) / math.sqrt(2.0) / max(
                float(_curves.pairs(self.counts)), 1.0)
            return self._share(won, hidden=hidden)

        found = self._toward_law(self._enclosing(area))
        return replace(found, note=found.note or self._rough())

    def average_precision(self) -> Estimate:
        """Return the average precision, an `Estimate`.

        Returns
        -------
        precision : Estimate
            A number in [0, 1].
        """
        counts = _curves.projected(self.counts)
        area, wide = _curves.told(self.counts)
        strong = 2.0 * area - 1.0
        even = np.array([strong * np.sqrt(wide)])
        law = (_curves.orders(self.counts) + even) / 2.0
        # One law does not fit where neighboring bins show far more order than all bins.
        lean = (1.0 - law) * np.clip(
            _curves.orders_near(counts) / np.maximum(law, _ORDERLY) - 1.0, 0.0, 1.0)
        order = law + lean / 2.0
        firsts = np.array(_curves.first_negatives(counts, self.noise_scale))
        unseen = _curves.unseen_ties(self.counts, _CELLS * self.noise_scale) * bool(
            self.bins.tied)

        def mean_precision(crowded, way):
            ties = self._tied + crowded
            # Any order of a crowd includes negatives before all its positives.
            first, reach = firsts * (1.0 - crowded[-1])

            def precise(counts):
                tied = self._tied + self._alone * np.ndim(way)
                return (_curves.precisions(counts, tied, order + crowded * (way - order),
                                           first).sum(axis=-1), counts[..., 1, :].sum(axis=-1))

            some, alike, none, beside, best, worst, same = (
                _curves.precisions(counts, held, given) for given, held in (
                    (order, ties), (even, ties), (0.0, ties),
                    (_curves.orders_by_rise(counts, self.noise_scale), ties), (law + lean, ties),
                    (law, ties), (0.0, np.ones(len(self.bins)))))
            last = _curves.precisions(counts, ties, order, reach)
            hidden = math.hypot((alike - none).sum(), (alike - beside).sum(),
                                (best - worst).sum() / 3.0, (some - last).sum() / 2.0,
                                ((some - same) * unseen[::-1]).sum() / 2.0, self._luck(ties))
            return self._curved_share(counts, precise, hidden / max(counts[1].sum(), 1.0))

        found = self._enclosing(mean_precision)
        return replace(found, note=found.note or self._rough())

    def _enclosing(self, estimate):
        """Return an estimate whose interval covers any order of rows within crowded bins.

        `estimate` maps crowded shares of bins and the order of their rows to an Estimate: -1 for
        positives after all negatives, 1 for positives before them. The value takes rows of lone
        cells as ties, and others of crowds at half the order of all rows. Nothing is known of
        order within public bins: all their rows count as crowded at both ends. The ends are
        those of 90 % intervals, as noise can move each beyond the truth in one direction only.
        """
        half = float(_curves.told(self.counts)[0]) - 0.5
        found = estimate(self._crowded, np.where(self._alone > 0.0, 0.0, half))
        crowded = self._any_order
        if not np.any(crowded) or math.isnan(found.value):
            return found
        return enclosing(found, *(estimate(crowded, way) for way in (-1.0, 1.0)), level=0.9)

    def _luck(self, ties):
        """Return the error of the sum of precisions from the random order within bins."""
        counts = _curves.projected(self.counts)
        best, worst = (_curves.precisions(counts, ties, order) for order in (1.0, -1.0))
        return _LUCK * np.sqrt(np.sum(
            (best - worst)**2 / np.maximum(counts[1, ::-1], 1.0)))

    def brier_score(self) -> Estimate:
        """Return the mean squared difference of label and probability, an `Estimate`.

        Returns
        -------
        loss : Estimate
            A number in [0, 1].

        Raises
        ------
        ValueError
            If scores are not probabilities, so their range is not (0, 1).
        """
        self.bins.check_probabilities("brier_score")
        losses, off = expected_losses(self.bins)
        cut = np.maximum(off - LOSS_REACH, 0.0) if self.bins.tied else np.zeros_like(off)
        hidden = (np.maximum(self.counts, 0.0) * cut).sum() / 4.0
        return self._estimate(
            lambda counts: ((counts * losses).sum(axis=(-2, -1)) + self.squared_loss)
            / self.n_samples, hidden=math.hypot(self.loss_noise, hidden) / self.n_samples)

    def log_loss(self) -> Estimate:
        """Return the mean log loss of probabilities, an `Estimate`.

        Probabilities below `log_loss_floor` count as `log_loss_floor`.

        Returns
        -------
        loss : Estimate
            A number in [0, -log(log_loss_floor)].

        Raises
        ------
        ValueError
            If the evaluation was made without `log_loss_floor`.
        """
        floor = released_floor(self.log_loss_floor)
        losses, _ = expected_log_losses(self.bins, floor, LOSS_WEIGHT)
        found = replace(self, of_population=False)._estimate(
            lambda counts: ((counts * losses).sum(axis=(-2, -1)) + self.log_loss_left)
            / self.n_samples, (0.0, -math.log(floor)),
            self.log_loss_noise / self.n_samples)
        if not self.of_population:
            return found
        # Losses at the centers of bins have about the variance of the losses of rows.
        p = self.bins.centers
        of_rows = log_losses(np.stack([1.0 - p, p]), floor)
        shares = np.maximum(self.counts, 0.0) / np.maximum(self.counts, 0.0).sum()
        spread = (shares * (of_rows - (shares * of_rows).sum())**2).sum()
        return replace(found, standard_error=math.hypot(
            found.standard_error, math.sqrt(spread / self.n_samples)))

    def lift(self, fraction: float = 0.1) -> Estimate:
        """Return the lift of the rows with the highest scores, an `Estimate`.

        Parameters
        ----------
        fraction : float in (0, 1], default=0.1
            Fraction of rows to select, by highest score.

        Returns
        -------
        lift : Estimate
            >= 0; 1 for scores without information.
        """
        fraction = check_real("fraction", fraction, low=0, high=1, open_low=True,
                              remedy="a number in (0, 1]")

        def selected(crowded, way):
            spread = 1.0 - self._tied - crowded
            bent, off = _curves.bent_positives(self.counts, fraction, spread)

            def held(counts):
                return (_curves.positives_of(counts, fraction, crowded * way) + bent,
                        fraction * counts[..., 1, :].sum(axis=-1))

            return self._share(held, (0.0, 1.0 / fraction),
                               off / fraction / max(self.counts[1].sum(), 1.0))

        return self._enclosing(selected)

    def _at(self, threshold, metric, bounds=(0.0, 1.0)):
        """Return a metric of the cells (..., label, prediction) at a threshold."""
        return self._of_cells(threshold, metric, partial(self._estimate, bounds=bounds))

    def _share_at(self, threshold, parts):
        """Return a ratio at a threshold; `parts` gives its numerator and denominator."""
        return self._of_cells(threshold, parts, self._share)

    def _of_cells(self, threshold, metric, estimate):
        """Return an estimate of a metric that rises with true, and falls with false positives.

        The cells of a confusion matrix each depend on one label only, and are allowed too. In the
        bin that holds the threshold, all or none of the rows of a label may reach it.
        """
        threshold = self.bins.threshold if threshold is None else check_real(
            "threshold", threshold, remedy="None, or a finite number")
        least, most, about = self.bins.above(threshold)

        def at(counts, share=about):
            return np.stack([counts @ (1.0 - share), counts @ share], axis=-1)

        def mixed(counts, negative, positive):
            return np.stack([at(counts, negative)[..., 0, :], at(counts, positive)[..., 1, :]],
                            axis=-2)

        found = estimate(lambda counts: metric(at(counts)))
        if np.all(least == most) or np.any(np.isnan(found.value)):
            return found
        sides = [estimate(lambda counts, some=some: metric(mixed(counts, *some)))
                 for some in ((least, most), (most, least))]
        return enclosing(found, *sides)

    def _rough(self):
        """Return a note if too many pairs are in bins whose rows may be in any order, or None."""
        held = self._any_order
        share = float(np.clip(_curves.tied_pairs(self.counts, held), 0.0, 1.0))
        # Draws are slow, and few tables have that many ties.
        if (share <= _MANY_TIES or share - 2.0 * np.std(
                _curves.tied_pairs(self._draws(), held)) <= _MANY_TIES):
            return None
        return ("scores crowd into few bins, by the noisy counts, so the metric is known roughly "
                "only; give bins= edges where scores are, such as [-0.2, -0.1, 0.0, 0.1], or "
                "score_range= a range that they fill, or None where they are no probabilities; "
                "scorers take bins= alone")


def _balanced(cells):
    """Return the mean recall of both labels as numerator and denominator of one ratio."""
    sizes = cells.sum(axis=-1)
    return ((cells[..., 0, 0] * sizes[..., 1] + cells[..., 1, 1] * sizes[..., 0]) / 2.0,
            sizes.prod(axis=-1))

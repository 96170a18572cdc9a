r"""Scores that follow from noisy sums over rows, and how far one row moves those sums.

The best of runs may be chosen by whatever follows from what runs release, as the event of a run
covers all of it. So a score needs no sensitivity of its own: sums of bounded rows are released, at
shares of mu^2 that add up to 1, and the score is computed of them.

A row adds a point of a set to a sum, and replacing it moves the sum by the diameter of that set at
most; averages of the points of a person's rows lie in its hull, which has the same diameter.

==================  ==================================================  =============
score               points                                              diameter
==================  ==================================================  =============
mean of losses      1/2 - loss, loss in [0, 1]                          1
balanced accuracy,  one of 2 K corners: label, and whether it is        sqrt(2)
F1                  predicted
R2                  1/2 - loss; then (u, u^2) / 2, u in [-1, 1]         1; 1
ROC area, average   corners of 3 tables: label and cell of the score;   sqrt(6); sqrt(2)
precision           then one of 2 B corners: label and bin
==================  ==================================================  =============

Points (u, u^2) and (v, v^2) are ``|u - v| sqrt(1 + (u + v)^2)`` apart, which is largest at 1 and
-1. ROC areas and average precisions are those of a private evaluation: bins follow the first
counts, and errors are by simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import logit

from dpsk._data.errors import without_warnings
from dpsk._data.passes import InPasses
from dpsk._defaults.evaluation import JOINED, WIDTHS, WIDTHS_SHARE, bins_at
from dpsk._origin import is_of
from dpsk.metrics import _curves
from dpsk.metrics._score_cells import ScoreCells
from dpsk.metrics._score_release import ScoreRelease
from dpsk.metrics._score_table import ScoreTable
from dpsk.metrics._scores import ScoreBins, codes_of
from dpsk.model_selection._candidates import responses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._typing import FloatArray

__all__ = ["R2", "LabelScore", "RankScore", "Score"]

_CORNERS = math.sqrt(2.0)
#: Deviations of its noise that the number of positives is to be for their precision to be told.
_KNOWN = 5.0


@dataclass(frozen=True)
class Score:
    """A score of held-out rows, of which larger is better.

    Attributes
    ----------
    name : str
    shares : tuple of float
        Of mu^2, of the sums that are released, one after another.
    diameters : tuple of float
        How far a row that is replaced moves each of them at most.
    binary : bool
        Whether it is of two classes only.
    """

    name: str
    shares: ClassVar[tuple[float, ...]] = (1.0,)
    diameters: ClassVar[tuple[float, ...]] = (1.0,)
    binary: ClassVar[bool] = False

    @property
    def range(self) -> tuple[float, float]:
        """(float, float) : what the score can be."""
        return 0.0, 1.0

    def released(self, ask: Callable[..., FloatArray], model: Any, X: Any, targets: Any,
                 n_rows: int, noises: list[float]) -> list[Any]:
        """Return the noisy means over rows that the score follows from.

        Parameters
        ----------
        ask : callable, (place, columns) -> ndarray of shape (k,)
            Releases the mean over rows of k columns of numbers in [-1/2, 1/2], at the share and
            with the diameter of a place.
        model : fitted estimator
        X : array-like or table of n rows
        targets : ndarray of shape (n,)
        n_rows : int
            How many rows, or groups of rows.
        noises : list of float
            Deviations of the noise on means, by place.
        """
        raise NotImplementedError

    def value(self, means: list[Any], n_rows: int) -> float:
        """Return the score of so many rows for what `released` gave, which may be out of range.
        """
        raise NotImplementedError

    def order(self, means: list[FloatArray], n_rows: int) -> float:
        """Return a number that the best run has the largest of."""
        # Where noise hides what a score is a share of it may be anything.
        return float(np.clip(self.value(means, n_rows), *self.range))

    def exact(self, model: Any, X: Any, targets: Any) -> float:
        """Return the score of rows without noise."""
        means = self.released(lambda place, columns: np.array(
            [each.mean() for each in columns]), model, X, targets, len(targets),
            [0.0] * len(self.shares))
        return float(self.value(means, len(targets)))

    def error(self, means: list[FloatArray], noises: list[float], n_rows: int) -> float:
        """Return the standard error for noise of some deviations, by differences as large."""
        square = 0.0
        for place, noise in enumerate(noises):
            for step in np.eye(len(means[place])) * (noise / 2.0):
                ends = [self.value([*means[:place], means[place] + side * step,
                                    *means[place + 1:]], n_rows) for side in (1.0, -1.0)]
                square += (ends[0] - ends[1])**2
        return math.sqrt(square)


@dataclass(frozen=True)
class LabelScore(Score):
    """Balanced accuracy or F1, of counts of labels that are predicted and of those that are not.
    """

    diameters: ClassVar[tuple[float, ...]] = (_CORNERS,)

    @property
    def binary(self) -> bool:  # type: ignore[override]
        """bool : whether it is of two classes only."""
        return self.name == "f1"

    def released(self, ask, model, X, targets, n_rows, noises):
        classes = np.asarray(model.classes_)
        right = np.asarray(model.predict(X)) == targets
        codes = 2 * np.searchsorted(classes, targets) + right
        return [ask(0, _Corners((codes, 2 * len(classes))))]

    def value(self, means, n_rows):
        wrong, right = _counts(means[0], n_rows).reshape(-1, 2).T
        if self.name == "f1":
            return float(2.0 * right[1] / max(2.0 * right[1] + wrong.sum(), 1.0))
        return float((right / np.maximum(right + wrong, 1.0)).mean())


@dataclass(frozen=True)
class RankScore(Score):
    """ROC area or average precision of noisy counts by label and bin; bins follow the scores."""

    shares: ClassVar[tuple[float, ...]] = (WIDTHS_SHARE, 1.0 - WIDTHS_SHARE)
    diameters: ClassVar[tuple[float, ...]] = (math.sqrt(2.0 * WIDTHS), _CORNERS)
    binary: ClassVar[bool] = True

    def released(self, ask, model, X, targets, n_rows, noises):
        mu = self.diameters[1] / (n_rows * noises[1] * math.sqrt(self.shares[1]))
        bins = replace(ScoreBins.of("auto", None, bins_at(n_rows * mu)), numbers=_numbers(model))
        release = ScoreRelease(bins, True, n_rows)
        codes = codes_of(_logits(model, X), ScoreCells.of(release.bins).edges)
        positive = np.asarray(targets) == model.classes_[1]
        sizes = [JOINED**(each + 1) for each in range(WIDTHS)]
        found = ask(0, _Corners(*((codes // (JOINED**WIDTHS // size) + size * positive, 2 * size)
                                  for size in sizes)))
        ends = np.cumsum(np.multiply(sizes, 2))[:-1]
        levels = [(n_rows * (each + 0.5)).reshape(2, -1) for each in np.split(found, ends)]
        bins, joined = release.following(levels, 1.0 / mu)
        counts = _counts(ask(1, _Corners((joined[codes] + len(bins) * positive, 2 * len(bins)))),
                         n_rows)
        # Its certificate is that of the search.
        return [ScoreTable(counts.reshape(2, -1), n_rows * noises[1], n_rows, (0, 1),
                           None, False, bins)]

    def value(self, means, n_rows):
        return float(self._estimate(means[0]).value)

    def _estimate(self, table):
        return without_warnings(getattr(table, self.name))

    def exact(self, model, X, targets):
        from sklearn import metrics

        exact = getattr(metrics, f"{self.name}_score")
        return float(exact(np.asarray(targets) == model.classes_[1], _logits(model, X)))

    def error(self, means, noises, n_rows):
        (table,) = means
        found, counts, tied = self._estimate(table), table.counts, np.array(table.bins.tied)
        if self.name == "roc_auc":
            # It holds how far the order of rows within bins is off what bins beside tell.
            return float(found.standard_error)
        if counts[1].sum() < _KNOWN * table.noise_scale * math.sqrt(counts.shape[1]):
            return math.inf
        # Two errors reach all that precision may be by the order of rows within bins.
        ends = [_curves.precisions(counts, tied, order).sum() / max(counts[1].sum(), 1.0)
                for order in (-1.0, 1.0)]
        reach = max(ends[1] - found.value, found.value - ends[0], 0.0)
        return math.hypot(found.standard_error, reach / 2.0)


@dataclass(frozen=True)
class R2(Score):
    """R2 by a noisy mean of squared errors, and the noisy variance of targets within bounds."""

    errors: Any
    low: float
    high: float
    shares: ClassVar[tuple[float, ...]] = (0.9, 0.1)
    diameters: ClassVar[tuple[float, ...]] = (1.0, 1.0)

    @property
    def range(self) -> tuple[float, float]:
        return -math.inf, 1.0

    def released(self, ask, model, X, targets, n_rows, noises):
        errors = self.errors.released(ask, model, X, targets, n_rows, noises)
        place = np.clip((np.asarray(targets, dtype=np.float64) - self.low)
                        / (self.high - self.low), 0.0, 1.0)
        place = 2.0 * np.where(np.isnan(place), 0.5, place) - 1.0
        return [*errors, ask(1, (place / 2.0, place**2 / 2.0))]

    def value(self, means, n_rows):
        first, second = 2.0 * means[1]
        variance = (second - first**2) * ((self.high - self.low) / 2.0)**2
        if not variance > 0.0:
            return math.nan
        return 1.0 + self.errors.value(means[:1], n_rows) / variance

    def order(self, means, n_rows):
        # The variance of targets does not follow from the model.
        return self.errors.order(means[:1], n_rows)


class _Corners:
    """The columns of tables that have a 1 in every row, where a code says, less a half.

    Parameters
    ----------
    *tables : (ndarray of int, int)
        Codes of rows, and how many there are.
    """

    def __init__(self, *tables: tuple[Any, int]) -> None:
        self._tables = tables

    def __len__(self) -> int:
        return sum(size for _, size in self._tables)

    def __iter__(self) -> Iterator[FloatArray]:
        return ((codes == each) - 0.5 for codes, size in self._tables for each in range(size))


def _counts(means: FloatArray, n_rows: float) -> FloatArray:
    """Return noisy counts of corners, whose sum is known."""
    counts = n_rows * (means + 0.5)
    return counts + (n_rows - counts.sum()) / len(counts)


def _logits(model: Any, X: Any) -> FloatArray:
    """Return decisions, or logits of probabilities, of the second of two classes."""
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    found = np.asarray(responses(model, X, method), dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.nan_to_num(logit(found) if method == "predict_proba" else found, nan=-1e300)


def _numbers(model: Any) -> tuple[float, ...]:
    """Return all logits that a tree says, rising; none of other models, nor of one leaf or many.

    They follow from the tree that was released, as do edges between them; rows of a leaf are ties.
    """
    if isinstance(model, InPasses):
        return _numbers(model._model)
    # Other classes may say something else than the tree in them.
    own = is_of(type(model), "dpsk")
    if own or is_of(type(model), "sklearn.pipeline"):
        steps = vars(model).get("steps_" if own else "steps")
        if steps:
            return _numbers(steps[-1][1])
    said = getattr(model, "_said", None) if own else None
    found = () if said is None else np.unique(logit(said[:, 1])).tolist()
    return tuple(found) if 1 < len(found) <= JOINED**WIDTHS else ()

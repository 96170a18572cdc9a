r"""Scores computed from noisy sums over rows, and the sensitivities of those sums.

The best run may be chosen by any post-processing of the outputs of runs, because the event of a
run covers all of them. So a score needs no sensitivity of its own: sums over bounded rows are
released, at fractions of mu^2 that add up to 1, and the score is computed from them.

A row adds a point of a set to a sum, so replacing it moves the sum by at most the diameter of the
set. The average of the points of a person's rows lies in the set's convex hull, which has the same
diameter.

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

The distance of (u, u^2) and (v, v^2) is ``|u - v| sqrt(1 + (u + v)^2)``, which is largest at 1 and
-1. ROC area and average precision are computed as in a private evaluation: the first counts
determine the bins, and standard errors are simulated.
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
#: Average precision needs a number of positives of at least this many noise standard deviations.
_KNOWN = 5.0


@dataclass(frozen=True)
class Score:
    """A score on held-out rows; larger is better.

    Attributes
    ----------
    name : str
    shares : tuple of float
        Fractions of mu^2 for the released sums, in order.
    diameters : tuple of float
        Sensitivity of each sum to replacing one row.
    binary : bool
        Whether the score is for two classes only.
    """

    name: str
    shares: ClassVar[tuple[float, ...]] = (1.0,)
    diameters: ClassVar[tuple[float, ...]] = (1.0,)
    binary: ClassVar[bool] = False

    @property
    def range(self) -> tuple[float, float]:
        """(float, float) : bounds on the score."""
        return 0.0, 1.0

    def released(self, ask: Callable[..., FloatArray], model: Any, X: Any, targets: Any,
                 n_rows: int, noises: list[float]) -> list[Any]:
        """Return the noisy means over rows from which the score is computed.

        Parameters
        ----------
        ask : callable, (place, columns) -> ndarray of shape (k,)
            Releases the mean over rows of k columns of numbers in [-1/2, 1/2], with the share
            and the diameter at index `place`.
        model : fitted estimator
        X : array-like or table of n rows
        targets : ndarray of shape (n,)
        n_rows : int
            Number of rows, or of groups of rows.
        noises : list of float
            Standard deviations of the noise on means, by place.
        """
        raise NotImplementedError

    def value(self, means: list[Any], n_rows: int) -> float:
        """Return the score computed from the means of `released`; may be out of range."""
        raise NotImplementedError

    def order(self, means: list[FloatArray], n_rows: int) -> float:
        """Return the number by which runs are ranked; the best run has the largest."""
        # A noisy denominator can make a score arbitrarily large.
        return float(np.clip(self.value(means, n_rows), *self.range))

    def exact(self, model: Any, X: Any, targets: Any) -> float:
        """Return the score of rows without noise."""
        means = self.released(lambda place, columns: np.array(
            [each.mean() for each in columns]), model, X, targets, len(targets),
            [0.0] * len(self.shares))
        return float(self.value(means, len(targets)))

    def error(self, means: list[FloatArray], noises: list[float], n_rows: int) -> float:
        """Return the standard error, by differences of one noise standard deviation."""
        square = 0.0
        for place, noise in enumerate(noises):
            for step in np.eye(len(means[place])) * (noise / 2.0):
                ends = [self.value([*means[:place], means[place] + side * step,
                                    *means[place + 1:]], n_rows) for side in (1.0, -1.0)]
                square += (ends[0] - ends[1])**2
        return math.sqrt(square)


@dataclass(frozen=True)
class LabelScore(Score):
    """Balanced accuracy or F1, from counts of correct and wrong predictions by label."""

    diameters: ClassVar[tuple[float, ...]] = (_CORNERS,)

    @property
    def binary(self) -> bool:  # type: ignore[override]
        """bool : whether the score is for two classes only."""
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
    """ROC area or average precision, from noisy counts by label and bin of scores."""

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
        # No certificate of its own: that of the search covers the table.
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
            # It includes how far the order within bins may differ from what other bins suggest.
            return float(found.standard_error)
        if counts[1].sum() < _KNOWN * table.noise_scale * math.sqrt(counts.shape[1]):
            return math.inf
        # Two standard errors cover every order of the rows within bins.
        ends = [_curves.precisions(counts, tied, order).sum() / max(counts[1].sum(), 1.0)
                for order in (-1.0, 1.0)]
        reach = max(ends[1] - found.value, found.value - ends[0], 0.0)
        return math.hypot(found.standard_error, reach / 2.0)


@dataclass(frozen=True)
class R2(Score):
    """R2 from a noisy mean squared error and the noisy variance of clipped targets."""

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
        # The variance of targets does not depend on the model, so the error alone ranks runs.
        return self.errors.order(means[:1], n_rows)


class _Corners:
    """One-hot columns of one or several codes, minus 1/2.

    Parameters
    ----------
    *tables : (ndarray of int, int)
        The code of every row, and the number of codes.
    """

    def __init__(self, *tables: tuple[Any, int]) -> None:
        self._tables = tables

    def __len__(self) -> int:
        return sum(size for _, size in self._tables)

    def __iter__(self) -> Iterator[FloatArray]:
        return ((codes == each) - 0.5 for codes, size in self._tables for each in range(size))


def _counts(means: FloatArray, n_rows: float) -> FloatArray:
    """Return noisy counts of corners, shifted to sum to the number of rows."""
    counts = n_rows * (means + 0.5)
    return counts + (n_rows - counts.sum()) / len(counts)


def _logits(model: Any, X: Any) -> FloatArray:
    """Return decision values, or logits of probabilities, of the second of two classes."""
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    found = np.asarray(responses(model, X, method), dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.nan_to_num(logit(found) if method == "predict_proba" else found, nan=-1e300)


def _numbers(model: Any) -> tuple[float, ...]:
    """Return the sorted logits that a tree predicts, if there are several but not too many.

    Other models give (). The logits, and edges between them, are post-processing of the released
    tree; rows of one leaf are ties.
    """
    if isinstance(model, InPasses):
        return _numbers(model._model)
    # A class of another package may change the predictions of the tree inside it.
    own = is_of(type(model), "dpsk")
    if own or is_of(type(model), "sklearn.pipeline"):
        steps = vars(model).get("steps_" if own else "steps")
        if steps:
            return _numbers(steps[-1][1])
    said = getattr(model, "_said", None) if own else None
    found = () if said is None else np.unique(logit(said[:, 1])).tolist()
    return tuple(found) if 1 < len(found) <= JOINED**WIDTHS else ()

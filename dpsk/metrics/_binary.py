"""Private evaluation of scores of two classes: one histogram, and every metric of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.groups import groups_of
from dpsk._data.labels import labels_fact
from dpsk._defaults.evaluation import histogram_bins
from dpsk._docs import documented
from dpsk.metrics._inputs import (
    check_floor,
    check_lengths,
    read_labels,
    read_numbers,
    score_range_of,
    scores_of,
    threshold_of,
)
from dpsk.metrics._score_release import ScoreRelease, score_release
from dpsk.metrics._score_table import ScoreTable
from dpsk.metrics._scores import ScoreBins
from dpsk.metrics._table import checked_budget, table_method

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["BinaryEvaluation", "check_binary"]


@documented
@dataclass(frozen=True, eq=False, repr=False)
class BinaryEvaluation(ScoreTable):
    r"""How well scores tell two classes apart, from one noisy histogram.

    Make one by `from_estimator` or `from_predictions`. They release the counts

    .. math:: N_{yb} = \#\{i : y_i = y,\ \mathrm{bin}(s_i) = b\} + \sigma Z_{yb}

    of rows by label and bin of their score, with bins that follow the scores, and for
    probabilities a sum of squared losses. Every metric below follows from them, costs nothing
    more, and comes as an `Estimate`: a value with its standard error.

    Attributes
    ----------
    counts : ndarray of float64, shape (2, n_bins)
        Noisy counts, read-only: the negative label first, bins rising.
    bins : ScoreBins
        `bins.edges` are released, or public where the caller gave bins; shape (n_bins + 1,).
        `bins.threshold` is that of metrics which are not given another one.
    noise_scale : float
        Standard deviation of the noise on a count.
    n_samples : int
        Number of rows that evaluate, or of groups of rows.
    labels : tuple
        The negative label and the positive one.
    privacy_ : Certificate
        Of the release.
    of_population : bool
        Whether standard errors hold that of a sample of rows; see `for_population`.
    squared_loss : float
        Noisy sum of what squared losses of probabilities are more than in the centers of bins.
    loss_noise : float
        Standard deviation of the noise on it.
    log_loss_floor : float or None
        Probabilities below count as it in `log_loss`; None: that was not asked for.
    log_loss_left, log_loss_noise : float
        Noisy sum of log losses less what bins tell of them, and its noise.

    See Also
    --------
    MulticlassEvaluation : A table of true labels by predicted ones.
    dp_cross_validate : Scores by models that were fitted to other rows.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, all that is
    released is (epsilon, delta)-differentially private: a replaced row takes 1 from a cell and
    adds 1 to another, in the counts and at each width by which bins were chosen, and its loss is
    clipped. The number of rows, the labels and all parameters are public. With `groups` it holds
    for data sets that differ in all rows of one, which count for one together. The guarantee is
    for the rows that evaluate. Rows that trained the model pay for that beside it; keep the two
    apart by index, or add both certificates.

    *Bins.* About ``0.65 (n mu)^0.4``, fewer where a label is rare. A twentieth of mu^2 pays
    for noisy counts of fine public cells, of which bins are made that hide and cost little.
    Numbers that many rows have are bins of their own, and ties. What the order within other
    bins adds to the ROC area and to the average precision is estimated, and a standard error
    holds as much.

    References
    ----------
    Matthews and Harel, "An examination of data confidentiality and disclosure issues related to
    publication of empirical ROC curves", Academic Radiology 2013; docs/theory/evaluation.md.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import train_test_split
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.metrics import BinaryEvaluation
    >>> from dpsk.testing import NoiseSeed
    >>> X, y = make_classification(6000, random_state=0)
    >>> X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=0)
    >>> model = DPLogisticRegression(data_norm=5.0, random_state=NoiseSeed(0)).fit(X_fit, y_fit)
    >>> evaluation = BinaryEvaluation.from_estimator(model, X_test, y_test, epsilon=1.0,
    ...                                              random_state=NoiseSeed(0))
    >>> area, error = evaluation.roc_auc()
    >>> 0.8 < area < 1.0, error < 0.05
    (True, True)
    >>> evaluation.privacy_.epsilon
    1.0
    """

    @classmethod
    def from_estimator(cls, estimator: Any, X: Table, y: ArrayLike, *, epsilon: float = 1.0,
                       delta: float | None = None, pos_label: Any = None,
                       bins: str | int | Sequence[float] = "auto",
                       threshold: float | None = None, log_loss_floor: float | None = None,
                       groups: ArrayLike | None = None,
                       random_state: RandomState | None = None) -> Self:
        """Score rows with a fitted classifier of two classes, and release the histogram.

        Parameters
        ----------
        estimator : classifier
            Fitted, to other rows. Scores are those of `predict_proba`, else of
            `decision_function`, or of its `response_method`; its `classes_` are the labels.
        X : array-like of shape (n, n_features)
            Rows, as the classifier takes them.
        y : array-like of shape (n,)
            Their labels.
        %(epsilon_release)s %(delta_release)s %(pos_label_release)s
        bins : "auto", int or sequence of float, default="auto"
            As for `from_predictions`.
        threshold : float or None, default=None
            As for `from_predictions`; None: the estimator's `best_threshold_`, where it has one.
        log_loss_floor : float or None, default=None
            As for `from_predictions`.
        groups : array-like of shape (n,) or None, default=None
            As for `from_predictions`.
        %(random_state_release)s

        Returns
        -------
        evaluation : BinaryEvaluation
            What was released.
        """
        check_is_fitted(estimator)
        scores = scores_of(estimator, X, grouped=groups is not None, pos_label=pos_label)
        if threshold is None:
            threshold = threshold_of(estimator, pos_label)
        return cls.from_predictions(
            y, scores, epsilon=epsilon, delta=delta, labels=estimator.classes_,
            pos_label=pos_label, score_range=score_range_of(estimator), bins=bins,
            threshold=threshold, log_loss_floor=log_loss_floor, groups=groups,
            random_state=random_state)

    @classmethod
    @quietly
    def from_predictions(cls, y_true: ArrayLike, y_score: ArrayLike, *, epsilon: float = 1.0,
                         delta: float | None = None, labels: ArrayLike | None = None,
                         pos_label: Any = None,
                         score_range: tuple[float, float] | None = (0.0, 1.0),
                         bins: str | int | Sequence[float] = "auto",
                         threshold: float | None = None,
                         log_loss_floor: float | None = None,
                         groups: ArrayLike | None = None,
                         random_state: RandomState | None = None) -> Self:
        """Release the histogram of scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels of the rows.
        y_score : array-like of shape (n,) or (n, 2)
            Higher for the positive label; of two columns that of the positive label is taken.
            What is beyond `score_range` is in the outer bins, and what is not a number in the
            lowest one.
        %(epsilon_release)s %(delta_release)s
        labels : array-like of shape (2,) or None, default=None
            The label set, public; None: taken from `y_true`, which makes it so.
        %(pos_label_release)s
        score_range : (float, float) or None, default=(0.0, 1.0)
            Public bounds on scores; None: scores of any size.
        bins : "auto", int or sequence of float, default="auto"
            "auto": edges follow the scores. Else the number of public bins, or the public edges
            between them.
        threshold : float or None, default=None
            Public, or released before: rows of at least that score are predicted positive where
            a metric is not given another one. It is an edge, so metrics there have only noise in
            their errors. None: the middle of the range, 0 where scores have none.
        log_loss_floor : float or None, default=None
            Public, such as 0.01: the log loss is released too, of probabilities that count as no
            less. Noise on all else is a fiftieth larger for it. None: there is no `log_loss`.
        %(groups_release)s %(random_state_release)s

        Returns
        -------
        evaluation : BinaryEvaluation
            What was released.

        Raises
        ------
        ValueError
            If a parameter is out of range, labels are not two, or lengths differ; nothing is
            drawn then.
        """
        classes, codes = read_labels("BinaryEvaluation", y_true, labels)
        positive = _positive(classes, pos_label)
        scores = read_numbers("y_score", y_score, columns=2)
        if scores.ndim == 2:
            scores = scores[:, positive]
        check_lengths(codes, "y_score", scores)
        members = groups_of(groups, len(codes))
        budget = checked_budget(len(codes), 1, epsilon, delta, random_state, members)
        made = ScoreBins.of(bins, score_range, histogram_bins(budget), threshold)
        floor = _floor_of(log_loss_floor, made)
        shown = classes if positive == 1 else classes[::-1]
        found, certificate = score_release(
            table_method(cls, shown, made, *[floor] * (floor is not None),
                         *[("threshold", made.declared)] * (made.declared is not None)),
            "noisy histogram of scores", budget,
            ScoreRelease(made, isinstance(bins, str), budget.n_samples, floor), scores,
            codes if positive == 1 else 1 - codes, groups=members, random_state=random_state,
            public=[labels_fact(classes, labels, source="y_true")])
        losses, noises = (np.append(each, np.zeros(2 - len(each))).tolist()
                          for each in (found.losses, found.losses_noise))
        return cls(found.counts, found.noise, budget.n_samples, shown, certificate, False,
                   found.bins, losses[0], noises[0], floor, losses[1], noises[1])


def check_binary(labels, score_range, pos_label=None, bins="auto", threshold=None,
                 log_loss_floor=None, **_):
    """Raise a ValueError unless two classes can be evaluated so."""
    _positive(labels, pos_label)
    _floor_of(log_loss_floor, ScoreBins.of(bins, score_range, 2, threshold))


def _floor_of(log_loss_floor, bins):
    """Return the checked floor of probabilities in the log loss, or None."""
    if log_loss_floor is None:
        return None
    bins.check_probabilities("log_loss")
    return check_floor("log_loss_floor", log_loss_floor)


def _positive(classes, pos_label):
    """Return the place of the positive one of two classes."""
    if len(classes) != 2:
        raise ValueError(f"labels: there are {len(classes)} classes, and a histogram of scores is "
                         "for two; use MulticlassEvaluation, or one class against the rest.")
    if pos_label is None:
        return 1
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r}: must be one of the labels.")
    return classes.index(pos_label)

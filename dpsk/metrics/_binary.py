"""Private evaluation of scores of two classes: one noisy histogram gives all metrics."""

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

    of rows by label and bin of their score, with bins that follow the scores. For probabilities
    they also release a sum of squared losses. Every metric below is post-processing without
    further privacy cost, and returns an `Estimate`: a value with its standard error.

    Attributes
    ----------
    counts : ndarray of float64, shape (2, n_bins)
        Noisy counts, read-only: the negative label first, bins rising.
    bins : ScoreBins
        `bins.edges` are released, or public where the caller gave bins; shape (n_bins + 1,).
        `bins.threshold` is the default threshold of metrics.
    noise_scale : float
        Standard deviation of the noise on a count.
    n_samples : int
        Number of evaluation rows, or of groups of rows.
    labels : tuple
        The negative label and the positive one.
    privacy_ : Certificate
        Certificate of the release.
    of_population : bool
        Whether standard errors include the sampling error; see `for_population`.
    squared_loss : float
        Noisy sum of squared losses of probabilities minus the losses at the centers of bins.
    loss_noise : float
        Standard deviation of the noise on `squared_loss`.
    log_loss_floor : float or None
        Smaller probabilities count as this value in `log_loss`; None: no log loss was released.
    log_loss_left, log_loss_noise : float
        Noisy sum of log losses minus those expected from the bins, and its noise.

    See Also
    --------
    MulticlassEvaluation : A table of true labels by predicted labels.
    dp_cross_validate : Evaluates models on rows that they were not fitted to.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the release is
    (epsilon, delta)-differentially private: a replaced row takes 1 from a cell and adds 1 to
    another, in the counts and at each width from which bins are chosen, and its loss is clipped.
    The number of rows, the labels and all parameters are public. With `groups` the guarantee
    holds for data sets that differ in all rows of one group, which together count as one row. It
    covers the evaluation only. If the model was trained on the same rows, add both certificates;
    otherwise keep training and evaluation rows separate, by index.

    *Bins.* There are about ``0.65 (n mu)^0.4``, fewer where a label is rare. They are unions of
    fine public cells, chosen by noisy counts of these for a twentieth of mu^2. A number that many
    rows share has its own bin, and its rows are ties. The effect of the order within other bins
    on the ROC area and the average precision is estimated and included in standard errors.

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
            Fitted to other rows. Scores are those of its `response_method`, if it has one, else
            of `predict_proba` or `decision_function`. The labels are its `classes_`.
        X : array-like of shape (n, n_features)
            Evaluation rows, as the classifier accepts them.
        y : array-like of shape (n,)
            Labels of the rows.
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
            Scores, higher for the positive label. With two columns, the column of the positive
            label is used. Scores outside of `score_range` are in the outer bins, NaN in the
            lowest bin.
        %(epsilon_release)s %(delta_release)s
        labels : array-like of shape (2,) or None, default=None
            The public label set. None: the labels in `y_true`, which become public.
        %(pos_label_release)s %(score_range_scores)s %(bins_release)s
        threshold : float or None, default=None
            Default threshold of metrics: rows with at least this score are predicted positive.
            It must be public or released before. It becomes an edge, so metrics at it have no
            error from binning. None: the middle of the range; 0 without a range.
        log_loss_floor : float or None, default=None
            Public lower bound on probabilities, such as 0.01, with which the log loss is released
            too. It makes all other noise about 2 % larger. None: there is no `log_loss`.
        %(groups_release)s %(random_state_release)s

        Returns
        -------
        evaluation : BinaryEvaluation
            What was released.

        Raises
        ------
        ValueError
            If a parameter is out of range, labels are not two, or lengths differ. No noise has
            been drawn then.
        """
        classes, codes = read_labels("BinaryEvaluation", y_true, labels)
        positive = _positive(classes, pos_label)
        scores = read_numbers("y_score", y_score, columns=2)
        if scores.ndim == 2:
            scores = scores[:, positive]
        check_lengths(codes, "y_score", scores)
        members = groups_of(groups, len(codes), random_state)
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
    """Raise a ValueError unless two classes can be evaluated with these parameters."""
    _positive(labels, pos_label)
    _floor_of(log_loss_floor, ScoreBins.of(bins, score_range, 2, threshold))


def _floor_of(log_loss_floor, bins):
    """Return the checked floor of probabilities in the log loss, or None."""
    if log_loss_floor is None:
        return None
    bins.check_probabilities("log_loss")
    return check_floor("log_loss_floor", log_loss_floor)


def _positive(classes, pos_label):
    """Return the index of the positive class of two."""
    if len(classes) != 2:
        raise ValueError(f"labels: there are {len(classes)} classes, and a histogram of scores is "
                         "for two; use MulticlassEvaluation, or one class against the rest.")
    if pos_label is None:
        return 1
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r}: must be one of the labels.")
    return classes.index(pos_label)

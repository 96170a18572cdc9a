"""Single metrics of classifiers under scikit-learn's names, each a release of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.evaluation import FLOOR
from dpsk._docs import documented
from dpsk._parameters import check_choice
from dpsk.metrics._alone import alone
from dpsk.metrics._binary import BinaryEvaluation
from dpsk.metrics._f1 import averaged_f1, check_average
from dpsk.metrics._inputs import read_labels
from dpsk.metrics._log_loss import LogLossEvaluation
from dpsk.metrics._multiclass import MulticlassEvaluation
from dpsk.metrics._scores import NO_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk.metrics._estimate import Estimate

__all__ = ["dp_accuracy_score", "dp_average_precision_score", "dp_brier_score_loss",
           "dp_confusion_matrix", "dp_f1_score", "dp_log_loss", "dp_roc_auc_score"]

#: Axes over which counts are summed, by `normalize` of a confusion matrix.
_TOTALS = {"true": (-1,), "pred": (-2,), "all": (-2, -1)}


@documented
def dp_roc_auc_score(y_true: ArrayLike, y_score: ArrayLike, *,
                     labels: ArrayLike | None = None, pos_label: Any = None,
                     score_range: tuple[float, float] | None = None,
                     bins: str | int | Sequence[float] = "auto", epsilon: float = 1.0,
                     delta: float | None = None, groups: ArrayLike | None = None,
                     random_state: RandomState | None = None) -> Estimate:
    """Return the area under the ROC curve, with its error and certificate.

    Parameters
    ----------
    y_true, y_score : array-like of shape (n,)
        Labels, and scores that are higher for the positive one.
    %(labels_release)s %(pos_label_release)s %(score_range_scores)s
        (0, 1) for probabilities has less error.
    %(bins_release)s %(epsilon_release)s %(delta_release)s
    %(groups_release)s %(random_state_release)s

    Returns
    -------
    area : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_roc_auc_score
    >>> from dpsk.testing import NoiseSeed
    >>> score = np.linspace(0, 1, 4000)
    >>> area = dp_roc_auc_score(score**2 > 0.3, score, random_state=NoiseSeed(0))
    >>> float(area) > 0.9, area.privacy_.epsilon
    (True, 1.0)
    """
    return alone(BinaryEvaluation, "roc_auc", y_true, y_score, labels=labels,
                 pos_label=pos_label, score_range=score_range, bins=bins, threshold=NO_THRESHOLD,
                 epsilon=epsilon, delta=delta, groups=groups, random_state=random_state)


@documented
def dp_average_precision_score(y_true: ArrayLike, y_score: ArrayLike, *,
                              labels: ArrayLike | None = None, pos_label: Any = None,
                              score_range: tuple[float, float] | None = None,
                              bins: str | int | Sequence[float] = "auto", epsilon: float = 1.0,
                              delta: float | None = None, groups: ArrayLike | None = None,
                              random_state: RandomState | None = None) -> Estimate:
    """Return the average precision of two classes, with its error and certificate.

    Parameters
    ----------
    y_true, y_score : array-like of shape (n,)
        Labels, and scores that are higher for the positive one.
    %(labels_release)s %(pos_label_release)s %(score_range_scores)s
        (0, 1) for probabilities has less error.
    %(bins_release)s %(epsilon_release)s %(delta_release)s
    %(groups_release)s %(random_state_release)s

    Returns
    -------
    precision : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_average_precision_score
    >>> score = np.linspace(0, 1, 4000)
    >>> 0.5 < float(dp_average_precision_score(score**2 > 0.3, score, epsilon=8.0)) <= 1.0
    True
    """
    return alone(BinaryEvaluation, "average_precision", y_true, y_score, labels=labels,
                 pos_label=pos_label, score_range=score_range, bins=bins, threshold=NO_THRESHOLD,
                 epsilon=epsilon, delta=delta, groups=groups, random_state=random_state)


@documented
def dp_brier_score_loss(y_true: ArrayLike, y_proba: ArrayLike, *, labels: ArrayLike | None = None,
                       pos_label: Any = None, bins: str | int | Sequence[float] = "auto",
                       epsilon: float = 1.0, delta: float | None = None,
                       groups: ArrayLike | None = None,
                       random_state: RandomState | None = None) -> Estimate:
    """Return the Brier score, with its error and certificate.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive one.
    %(labels_release)s %(pos_label_release)s %(bins_release)s
    %(epsilon_release)s %(delta_release)s %(groups_release)s %(random_state_release)s

    Returns
    -------
    loss : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_brier_score_loss
    >>> p = np.linspace(0, 1, 4000)
    >>> float(dp_brier_score_loss(p > 0.5, p, epsilon=8.0)) < 0.2
    True
    """
    return alone(BinaryEvaluation, "brier_score", y_true, y_proba, labels=labels,
                 pos_label=pos_label, bins=bins, epsilon=epsilon, delta=delta, groups=groups,
                 random_state=random_state)


@documented
def dp_log_loss(y_true: ArrayLike, y_proba: ArrayLike, *, labels: ArrayLike | None = None,
                floor: float = FLOOR, epsilon: float = 1.0, delta: float | None = None,
                groups: ArrayLike | None = None,
                random_state: RandomState | None = None) -> Estimate:
    """Return the log loss of two or more classes, with its error and certificate.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_proba : array-like of shape (n,) or (n, n_classes)
        Probabilities of the greater of two labels, or of every label in sorted order.
    %(labels_release)s
    floor : float in [1e-15, 0.5], default=0.01
        Public; a smaller probability of a row's label, or NaN, is raised to `floor`. The
        standard error is proportional to ``-log(floor)``.
    %(epsilon_release)s %(delta_release)s
    %(groups_release)s %(random_state_release)s

    Returns
    -------
    loss : Estimate
        The mean of ``-log(max(p, floor))``, with p the probability of a row's label. It has its
        standard error, and the certificate in `privacy_`.

    Notes
    -----
    *Privacy.* The loss of a row is in ``[0, -log(floor)]``, so a replaced row moves the mean by
    ``-log(floor) / n`` at most.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_log_loss
    >>> p = np.linspace(0, 1, 4000)
    >>> 0.2 < float(dp_log_loss(p > 0.5, p, epsilon=8.0)) < 0.4
    True
    """
    return alone(LogLossEvaluation, "log_loss", y_true, y_proba, labels=labels, floor=floor,
                 epsilon=epsilon, delta=delta, groups=groups, random_state=random_state)


@documented
def dp_accuracy_score(y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None,
                     epsilon: float = 1.0, delta: float | None = None,
                     groups: ArrayLike | None = None,
                     random_state: RandomState | None = None) -> Estimate:
    """Return the accuracy, with its error and certificate.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels, and predictions of them.
    %(labels_release)s
    %(epsilon_release)s %(delta_release)s %(groups_release)s %(random_state_release)s

    Returns
    -------
    accuracy : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_accuracy_score
    >>> y = np.arange(4000) % 4
    >>> float(dp_accuracy_score(y, y, epsilon=8.0)) > 0.9
    True
    """
    return alone(MulticlassEvaluation, "accuracy", y_true, y_pred, labels=labels,
                 epsilon=epsilon, delta=delta, groups=groups, random_state=random_state)


@documented
def dp_f1_score(y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None,
                pos_label: Any = None, average: str = "binary", epsilon: float = 1.0,
                delta: float | None = None, groups: ArrayLike | None = None,
                random_state: RandomState | None = None) -> Estimate:
    """Return a private F1 score with its standard error and certificate.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels, and predictions of them.
    %(labels_release)s
    pos_label : label or None, default=None
        Positive label of two, for ``average="binary"``. None: the greater one.
    average : {"binary", "macro", "micro", "weighted"}, default="binary"
        The F1 of one of two labels; the mean over all labels; the F1 of all rows together, which
        is the accuracy; or the mean weighted by the numbers of rows per label.
    %(epsilon_release)s %(delta_release)s %(groups_release)s %(random_state_release)s

    Returns
    -------
    f1 : Estimate
        With its standard error, and the certificate in `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_f1_score
    >>> y = np.arange(4000) % 4
    >>> float(dp_f1_score(y, y, average="macro", epsilon=8.0)) > 0.9
    True
    """
    classes, _ = read_labels("dp_f1_score", y_true, labels)
    check_average(classes, average, pos_label)
    return alone(MulticlassEvaluation, partial(averaged_f1, average=average, pos_label=pos_label),
                 y_true, y_pred, labels=labels, epsilon=epsilon, delta=delta, groups=groups,
                 random_state=random_state)


@documented
def dp_confusion_matrix(y_true: ArrayLike, y_pred: ArrayLike, *, labels: ArrayLike | None = None,
                       normalize: str | None = None, epsilon: float = 1.0,
                       delta: float | None = None, groups: ArrayLike | None = None,
                       random_state: RandomState | None = None) -> Estimate:
    """Return a private confusion matrix with standard errors and a certificate.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels, and predictions of them.
    %(labels_release)s
        The matrix has them sorted.
    normalize : {"true", "pred", "all"} or None, default=None
        Shares of the rows of a label, of a prediction, or of all rows, instead of counts.
    %(epsilon_release)s %(delta_release)s %(groups_release)s %(random_state_release)s

    Returns
    -------
    matrix : Estimate
        Arrays of shape (n_classes, n_classes), rows are labels, with the certificate in
        `privacy_`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import dp_confusion_matrix
    >>> y = np.arange(4000) % 2
    >>> dp_confusion_matrix(y, y, epsilon=8.0).value.round(-2).tolist()
    [[2000.0, 0.0], [0.0, 2000.0]]
    """
    if normalize is not None:
        check_choice("normalize", normalize, list(_TOTALS))

    def matrix(evaluated):
        if normalize is None:
            return evaluated.confusion_matrix()
        return evaluated._share(lambda counts: (counts, np.broadcast_to(
            counts.sum(axis=_TOTALS[normalize], keepdims=True), counts.shape)))

    return alone(MulticlassEvaluation, matrix, y_true, y_pred, labels=labels, epsilon=epsilon,
                 delta=delta, groups=groups, random_state=random_state)

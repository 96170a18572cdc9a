"""Private evaluation of predicted labels, from one noisy confusion matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly
from dpsk._data.groups import groups_of
from dpsk._data.labels import encode_labels, labels_fact
from dpsk._docs import documented
from dpsk.metrics._estimate import Estimate
from dpsk.metrics._inputs import (
    check_floor,
    check_lengths,
    label_column,
    predicted,
    read_labels,
    released_floor,
    score_range_of,
    scores_of,
)
from dpsk.metrics._log_loss import losses_of
from dpsk.metrics._scores import require_probabilities
from dpsk.metrics._table import TableEvaluation, checked_budget, table_method, table_release

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["MulticlassEvaluation", "check_folds"]


@documented
@dataclass(frozen=True, eq=False, repr=False)
class MulticlassEvaluation(TableEvaluation):
    """Evaluation of predicted labels of any number of classes, from one noisy table.

    Make one by `from_estimator` or `from_predictions`. For the ROC curve of one class against the
    rest, evaluate ``y == label`` and the score of that label as a `BinaryEvaluation`. Each such
    evaluation is another release of the same rows.

    Attributes
    ----------
    counts : ndarray of float64, shape (n_classes, n_classes)
        Noisy and read-only. Rows are labels, columns are predictions.
    noise_scale : float
        Standard deviation of the noise on a count.
    n_samples : int
        Number of evaluated rows, or of groups of rows.
    labels : tuple
        Class labels, in the order of `counts`.
    privacy_ : Certificate
        Certificate of the release.
    of_population : bool
        Whether standard errors include the sampling error of rows; see `for_population`.
    log_loss_floor : float or None
        Least probability in `log_loss`, to which smaller ones are raised. None: no log loss.
    log_loss_left, log_loss_noise : float
        Noisy sum of log losses, each less half of the largest loss, and its noise.

    See Also
    --------
    BinaryEvaluation : Scores of two classes.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the counts are
    (epsilon, delta)-differentially private: a replaced row takes 1 from a cell and adds 1 to
    another; its log loss is clipped. The number of rows, the labels and all parameters are
    public. With `groups`, this holds for data sets that differ in all rows of one group, which
    together count as one row.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.metrics import MulticlassEvaluation
    >>> from dpsk.testing import NoiseSeed
    >>> y = np.arange(3000) % 3
    >>> guess = np.where(np.arange(3000) % 5 == 0, 0, y)
    >>> evaluation = MulticlassEvaluation.from_predictions(y, guess, epsilon=1.0,
    ...                                                    random_state=NoiseSeed(0))
    >>> accuracy, error = evaluation.accuracy()
    >>> abs(accuracy - 0.867) < 0.03, error < 0.01
    (True, True)
    """

    log_loss_floor: float | None = None
    log_loss_left: float = 0.0
    log_loss_noise: float = 0.0

    @classmethod
    def from_estimator(cls, estimator: Any, X: Table, y: ArrayLike, *, epsilon: float = 1.0,
                       delta: float | None = None, log_loss_floor: float | None = None,
                       groups: ArrayLike | None = None,
                       random_state: RandomState | None = None) -> Self:
        """Predict rows with a fitted classifier, and release the table.

        Parameters
        ----------
        estimator : classifier
            Fitted to other rows; its `classes_` are the labels.
        X : array-like of shape (n, n_features)
            Rows, as the classifier accepts them.
        y : array-like of shape (n,)
            Their labels.
        %(epsilon_release)s %(delta_release)s
        log_loss_floor : float or None, default=None
            As for `from_predictions`, of the probabilities of `predict_proba`.
        groups : array-like of shape (n,) or None, default=None
            As for `from_predictions`.
        %(random_state_release)s

        Returns
        -------
        evaluation : MulticlassEvaluation
            Released evaluation.
        """
        check_is_fitted(estimator)
        found = predicted(estimator, X, classifies=True, grouped=groups is not None)
        chances = None
        if log_loss_floor is not None:
            require_probabilities("log_loss", score_range_of(estimator))
            chances = scores_of(estimator, X, grouped=groups is not None)
        return cls.from_predictions(y, found, epsilon=epsilon, delta=delta,
                                    labels=estimator.classes_, y_proba=chances,
                                    log_loss_floor=log_loss_floor, groups=groups,
                                    random_state=random_state)

    @classmethod
    @quietly
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike, *, epsilon: float = 1.0,
                         delta: float | None = None, labels: ArrayLike | None = None,
                         y_proba: ArrayLike | None = None, log_loss_floor: float | None = None,
                         groups: ArrayLike | None = None,
                         random_state: RandomState | None = None) -> Self:
        """Release the table of labels by predictions.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            True and predicted labels.
        %(epsilon_release)s %(delta_release)s %(labels_release)s
        y_proba : array-like of shape (n, n_classes) or None, default=None
            Probabilities of the sorted labels, for the log loss.
        log_loss_floor : float or None, default=None
            Public, such as 0.01: also release the log loss, with smaller probabilities raised to
            it. Noise on the counts is then a fiftieth larger; `dp_log_loss` alone has a fifth of
            the error. None: there is no `log_loss`.
        %(groups_release)s %(random_state_release)s

        Returns
        -------
        evaluation : MulticlassEvaluation
            Released evaluation.

        Raises
        ------
        ValueError
            If a parameter is out of range, a prediction is none of the labels, lengths differ, or
            only one of `y_proba` and `log_loss_floor` is given; no noise has been drawn then.
        """
        classes, codes = read_labels("MulticlassEvaluation", y_true, labels)
        guesses = label_column("y_pred", y_pred)
        check_lengths(codes, "y_pred", guesses)
        _, places = encode_labels(guesses, np.asarray(classes), "MulticlassEvaluation",
                                  what="y_pred", parameter="labels")
        floor = _floor_of(log_loss_floor, y_proba)
        members = groups_of(groups, len(codes), random_state)
        budget = checked_budget(len(codes), 1, epsilon, delta, random_state, members)
        losses = {} if floor is None else {
            "losses": losses_of(y_proba, codes, len(classes), floor), "most": -math.log(floor)}
        table, scale, certificate, *left = table_release(
            table_method(cls, classes, *[floor] * (floor is not None)),
            "noisy table of predictions", budget, places, codes, (len(classes), len(classes)),
            groups=members, random_state=random_state,
            public=[labels_fact(classes, labels, source="y_true")], **losses)
        return cls(table, scale, budget.n_samples, classes, certificate, False,
                   *[floor, *left] * (floor is not None))

    def confusion_matrix(self) -> Estimate:
        """Return the noisy counts, an `Estimate` of shape (n_classes, n_classes).

        Returns
        -------
        matrix : Estimate
            Arrays of shape (n_classes, n_classes); rows are labels, columns are predictions.
        """
        return self._estimate(lambda counts: counts, (0.0, float(self.n_samples)))

    def accuracy(self) -> Estimate:
        """Return the share of rows with a right prediction, an `Estimate`.

        Returns
        -------
        accuracy : Estimate
            A number in [0, 1].
        """
        return self._estimate(lambda counts: _right(counts).sum(axis=-1) / self.n_samples)

    def recall(self) -> Estimate:
        """Return the share of each label's rows that are found, an `Estimate`.

        Returns
        -------
        recall : Estimate
            Arrays of shape (n_classes,), in [0, 1].
        """
        return self._share(lambda counts: (_right(counts), counts.sum(axis=-1)))

    def precision(self) -> Estimate:
        """Return the share of each prediction's rows that are right, an `Estimate`.

        Returns
        -------
        precision : Estimate
            Arrays of shape (n_classes,), in [0, 1].
        """
        return self._share(lambda counts: (_right(counts), counts.sum(axis=-2)))

    def balanced_accuracy(self) -> Estimate:
        """Return the mean recall of all labels, an `Estimate`.

        Errors of labels whose rows noise hides add up, because all may have one direction.

        Returns
        -------
        accuracy : Estimate
            A number in [0, 1].
        """
        return self._mean_share(lambda counts: (_right(counts), counts.sum(axis=-1)))

    def f1(self) -> Estimate:
        """Return the harmonic mean of precision and recall by label, an `Estimate`.

        Returns
        -------
        f1 : Estimate
            Arrays of shape (n_classes,), in [0, 1].
        """
        return self._share(lambda counts: (
            2.0 * _right(counts), counts.sum(axis=-1) + counts.sum(axis=-2)))

    def log_loss(self) -> Estimate:
        """Return the mean log loss of probabilities, an `Estimate`.

        Probabilities below `log_loss_floor` are raised to it. After `for_population`, the
        sampling error is the largest that a mean in this range can have.

        Returns
        -------
        loss : Estimate
            A number in [0, -log(log_loss_floor)].

        Raises
        ------
        ValueError
            If the evaluation was made without `log_loss_floor`.
        """
        most = -math.log(released_floor(self.log_loss_floor, "y_proba= and "))
        value = min(max(self.log_loss_left / self.n_samples + most / 2.0, 0.0), most)
        error = self.log_loss_noise / self.n_samples
        if self.of_population:
            error = math.hypot(error, math.sqrt(value * (most - value) / self.n_samples))
        return Estimate(value, error, (0.0, most))


def check_folds(y_proba=None, log_loss_floor=None, **_):
    """Raise a ValueError if folds are to release a log loss, without probabilities."""
    if y_proba is not None or log_loss_floor is not None:
        raise ValueError(f"log_loss_floor={log_loss_floor}: folds of several classes have no log "
                         "loss; leave it and y_proba out, and use dp_log_loss on held-out rows.")


def _floor_of(log_loss_floor, y_proba):
    """Return the checked floor of probabilities in the log loss, or None."""
    if (log_loss_floor is None) != (y_proba is None):
        raise ValueError(f"log_loss_floor={log_loss_floor}: must be given where y_proba is, and "
                         "not without; give both, or neither.")
    return None if log_loss_floor is None else check_floor("log_loss_floor", log_loss_floor)


def _right(counts):
    return np.diagonal(counts, axis1=-2, axis2=-1)

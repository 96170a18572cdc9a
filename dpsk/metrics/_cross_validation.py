"""Cross-validation with folds by index, and the cost of models and evaluation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils import _safe_indexing, indexable

from dpsk._budgeted import facts_on_trust
from dpsk._charging import stating
from dpsk._data.errors import discreetly, quietly
from dpsk._data.groups import groups_of
from dpsk._data.labels import label_array, labels_fact
from dpsk._data.validation import check_in_memory
from dpsk._fit import warn_of_weak_budget
from dpsk._privacy import accountant, certificate_sum
from dpsk._privacy.certificate import Certificate
from dpsk._privacy.certificate_fields import HANDED_OVER, rounded_up
from dpsk._rehearsal import rehearse
from dpsk._warnings import noted
from dpsk.metrics._binary import BinaryEvaluation, check_binary
from dpsk.metrics._html import ShowsMetrics
from dpsk.metrics._inputs import (
    predicted,
    read_labels,
    read_numbers,
    score_range_of,
    scores_of,
)
from dpsk.metrics._multiclass import MulticlassEvaluation, check_folds
from dpsk.metrics._regression import RegressionEvaluation, checked_bounds
from dpsk.metrics._splits import is_by_index, splits_of
from dpsk.metrics._table import APART, DISJOINT, checked_budget

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["CrossValidation", "dp_cross_validate"]

#: The fact that replaces `DISJOINT` or `APART` in a budget, and the facts on folds.
_IN_TRAINING = "rows that are evaluated: trained the models of other folds"
_BY_INDEX = "which rows are in which fold: by index, without a look at rows"
_GROUPS_BY_INDEX = "which groups of rows are in which fold: by index, without a look at rows"


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(ShowsMetrics):
    """Released scores of a cross-validation, and its total cost for a row.

    Each model is evaluated on rows that it was not fitted to. The privacy cost of a row depends
    on the number of trainings that use it.

    Attributes
    ----------
    evaluation : BinaryEvaluation, MulticlassEvaluation or RegressionEvaluation
        Evaluation of all held-out rows, each scored by a model that was not fitted to it. Its
        own `privacy_` covers the evaluation alone.
    estimators : tuple
        The fitted models, one for each split.
    n_trainings : int
        Largest number of trainings that use any one row.
    privacy_ : Certificate
        Certificate of all models and the evaluation.
    notes : tuple of str
        Warnings of fits and of the evaluation that came after the first charge.

    See Also
    --------
    dp_cross_validate : Cross-validates a model.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.metrics import dp_cross_validate
    >>> X, y = make_classification(3000, random_state=0)
    >>> result = dp_cross_validate(DPLogisticRegression(data_norm=5.0), X, y, cv=3)
    >>> len(result.estimators), result.n_trainings
    (3, 2)
    """

    evaluation: object
    estimators: tuple
    n_trainings: int
    privacy_: Certificate
    notes: tuple = ()

    def __repr__(self) -> str:
        notes = f", notes={self.notes}" * bool(self.notes)
        return (f"CrossValidation({self.evaluation!r}, n_splits={len(self.estimators)}, "
                f"total epsilon={rounded_up(self.privacy_.epsilon, 4)}{notes})")

    @property
    def scores(self) -> dict[str, Any]:
        """dict of Estimate : scores with standard errors, NaN where noise hides them."""
        return dict(self._shown_metrics())

    def _shown_metrics(self):
        return self.evaluation._shown_metrics()


@quietly
def dp_cross_validate(estimator: Any, X: Table, y: Any, *, cv: Any = 5, epsilon: float = 1.0,
                      delta: float | None = None, groups: ArrayLike | None = None,
                      random_state: RandomState | None = None,
                      **options: Any) -> CrossValidation:
    """Cross-validate a private model, with one certificate for all fits and scores.

    Parameters
    ----------
    estimator : estimator
        Private estimator, not fitted; each split fits a clone with its full `epsilon`.
    X : array-like of shape (n, n_features)
        Rows, as the estimator accepts them.
    y : array-like of shape (n,)
        Labels or targets.
    cv : int, KFold, ShuffleSplit or iterable of (train, test), default=5
        Splits by index; each row is held out at most once. An int: number of folds of shuffled
        indices. Stratified folds are refused, as one changed label moves many rows. Given folds
        must not depend on labels or other values of rows. This is an unverified assumption: the
        certificate and a `dpsk.exceptions.PrivacyWarning` state it.
    epsilon, delta : float
        Budget of the evaluation; see `BinaryEvaluation.from_predictions`.
    groups : array-like of shape (n,) or None, default=None
        The person of each row, for user-level privacy. All rows of a person are in one fold. `cv`
        must be an int or a splitter, and the estimator must support `groups`.
    random_state : None, int or NoiseSeed, default=None
        Shuffles indices, which is public; a NoiseSeed also repeats the noise of the evaluation.
    **options : dict
        Options of `from_predictions` of the evaluation: `pos_label`, `bins` and `threshold` for
        two classes, `residual_bound` and `target_bounds` for regression.

    Returns
    -------
    result : CrossValidation
        The evaluation, the models, and the certificate of both.

    Raises
    ------
    ValueError
        If a parameter is out of range, or a row is held out twice or twice in one split. No
        noise has been drawn then.
    TypeError
        If `cv` may read rows, or models have no certificate.

    Notes
    -----
    *Privacy.* A row that is held out once is in K - 1 of K trainings, and in one evaluation of
    scores by released models. So the certificate composes the K - 1 trainings of largest cost
    and the evaluation. If trainings are not Gaussian and their events differ, as with folds of
    different sizes, all K count. With `groups` the same holds for all rows of a group.

    *Scores* of all folds are evaluated together. Probabilities have one scale, but decision
    values of different models may not, so their curves mix scales. Models with tuned thresholds
    have one each: metrics use `threshold`, .5 by default.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from dpsk import DPLogisticRegression
    >>> from dpsk.metrics import dp_cross_validate
    >>> X, y = make_classification(3000, random_state=0)
    >>> result = dp_cross_validate(DPLogisticRegression(data_norm=5.0), X, y, cv=3)
    >>> result.n_trainings, 0.7 < float(result.evaluation.roc_auc()) <= 1.0
    (2, True)
    >>> 1.5 < result.privacy_.epsilon < 2.5
    True
    """
    check_in_memory("dp_cross_validate", "splits rows by their index", X)
    # Some sparse formats do not support row indexing.
    X, y = discreetly("X", indexable, X, y)
    people = groups_of(groups, len(y), random_state)
    n_units = len(y) if people is None else people.count
    if people is not None:
        _check_groups(estimator, cv)
    splits = splits_of(cv, n_units, random_state)
    evaluated = _opened(estimator, y, people, epsilon, delta, random_state, options)
    _check_fits(estimator, evaluated, splits, X, y, people)
    folds = HANDED_OVER if not is_by_index(cv) else _BY_INDEX if people is None else (
        _GROUPS_BY_INDEX)
    with noted() as late:
        estimators, members, evaluation = _evaluated(
            estimator, X, y, splits, people, evaluated, folds)
    paid = _worst([model.privacy_ for model in estimators], members)
    certificate = certificate_sum.total([*paid, evaluated.restated(evaluation.privacy_)])
    n_trainings = int(members.sum(axis=0).max())
    facts = (*facts_on_trust(estimator), folds,
             f"a {'row' if people is None else 'group'} is in {n_trainings} trainings at most, "
             "and in one evaluation")
    # Rows train and evaluate here, and the certificate counts both.
    apart = DISJOINT if people is None else APART
    public = [fact for fact in certificate.public if fact != apart]
    certificate = replace(certificate, public=tuple(dict.fromkeys((*public, *facts)))).verify()
    return CrossValidation(evaluation, tuple(estimators), n_trainings, certificate,
                           tuple(text for text, _ in late))


def _evaluated(estimator, X, y, splits, people, evaluated, folds):
    """Return the models of all splits, which units trained each, and the evaluation."""
    members: Any = np.zeros((len(splits), len(y) if people is None else people.count), bool)
    estimators = []
    for place, (train, test) in enumerate(splits):
        model = evaluated.told(clone(estimator))
        with evaluated.stating(folds, *facts_on_trust(estimator)):
            _call(model.fit, X, y, train, people)
        if not isinstance(getattr(model, "privacy_", None), Certificate):
            raise TypeError(f"{type(model).__name__} has no certificate in privacy_, so nothing "
                            "is known of its price; give a private estimator.")
        model.privacy_ = evaluated.restated(model.privacy_)
        members[place, train] = True
        rows = test if people is None else people.subset(test)[0]
        evaluated.score(model, _safe_indexing(X, rows), rows)
        estimators.append(model)
    apart = DISJOINT if people is None else APART
    with evaluated.stating(folds, instead=((apart, _IN_TRAINING),)):
        evaluation = evaluated.evaluation()
    return estimators, members, evaluation


def _check_groups(estimator, cv):
    """Raise a ValueError if folds may split groups, or the model protects rows only."""
    if not is_by_index(cv):
        raise ValueError("cv: given splits could separate rows of one group; with groups "
                         "use an int or KFold, which then keep each group together.")
    last = _predictor(estimator)
    if "groups" not in signature(estimator.fit).parameters or hasattr(last, "group_labels"):
        raise ValueError(f"groups: {type(estimator).__name__} protects rows, and not groups of "
                         "them; use another estimator, or groups=None.")


def _call(fit, X, y, units, people):
    """Call `fit` with the rows of the indices `units`, or of these groups."""
    if people is None:
        return fit(_safe_indexing(X, units), _safe_indexing(y, units))
    rows, groups = people.subset(units)
    return fit(_safe_indexing(X, rows), _safe_indexing(y, rows), groups=groups.codes)


def _check_fits(estimator, evaluated, splits, X, y, people):
    """Raise the errors of all fits before the first one is charged."""
    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if not {"epsilon", "delta"} <= set(known):
        raise TypeError(f"{type(estimator).__name__} has no parameters epsilon and delta, and "
                        "would leave no certificate; give a private estimator.")
    # All rows, as rows in no training part are predicted too.
    every = np.arange(len(y) if people is None else people.count)
    for units in (every, *(train for train, _ in splits)):
        _call(partial(rehearse, evaluated.told(clone(estimator))), X, y, units, people)


def _worst(certificates, members):
    """Return the certificates of the trainings that use the row of largest cost.

    Parameters
    ----------
    certificates : list of Certificate
    members : ndarray of bool, shape (n_splits, n)
    """
    prices = [accountant.merge(each.event) for each in certificates]
    if all(price.is_private and price.is_gaussian for price in prices):
        weights = np.array([price.mu**2 for price in prices])
    elif all(each.event == certificates[0].event for each in certificates):
        weights = np.ones(len(certificates))
    else:
        # Costs of several kinds cannot be compared: all count.
        return certificates
    row = int(np.argmax(weights @ members))
    return [each for each, inside in zip(certificates, members[:, row], strict=True) if inside]


class _Held:
    """Collects predictions for held-out rows, for one evaluation."""

    def __init__(self, labels, declared, evaluate, predict):
        self._labels, self._evaluate, self._predict = labels, evaluate, predict
        self._found, self._indices = [], []
        #: The fact that clones state on labels passed to them, and the true fact.
        self._told = ()
        if labels is not None and declared is None:
            self._told = ((labels_fact(labels, labels), labels_fact(labels, None)),)

    def told(self, model):
        """Return the model with all labels set, as the labels in a training part are data."""
        last = _predictor(model)
        if self._labels is not None and getattr(last, "classes", self._labels) is None:
            last.set_params(classes=list(self._labels))
        return model

    def stating(self, *facts, instead=()):
        """Return a context in which budgets state these facts, and the true one on labels."""
        return stating(*facts, instead=(*self._told, *instead))

    def restated(self, certificate):
        """Return the certificate of a model with the true fact on its labels."""
        public = certificate.public
        for untrue, true in self._told:
            # In a pipeline, the name of the step precedes the fact.
            public = tuple(fact.replace(untrue, true) for fact in public)
        return replace(certificate, public=public).verify()

    def score(self, model, X, indices):
        """Store the predictions of a model for rows."""
        if self._labels is not None and tuple(model.classes_.tolist()) != self._labels:
            raise ValueError("labels: a training part lacks one of the classes; declare classes= "
                             "of the estimator, or use fewer folds.")
        self._found.append(self._predict(model, X))
        self._indices.append(indices)

    def evaluation(self):
        """Return the evaluation of all stored predictions."""
        return self._evaluate(np.concatenate(self._indices), np.concatenate(self._found))


def _opened(estimator, y, people, epsilon, delta, random_state, options):
    """Check all parameters and return a `_Held` for predictions of the estimator."""
    # Public facts are warned of before the first fit is charged.
    warn_of_weak_budget(checked_budget(len(y), 1, epsilon, delta, random_state, people))
    given = {"epsilon": epsilon, "delta": delta, "random_state": random_state, **options}
    if is_regressor(estimator):
        signature(RegressionEvaluation.from_predictions).bind(y, y, **given)
        checked_bounds(options.get("residual_bound"), options.get("target_bounds"))
        targets, labels, kind = read_numbers("y", y), None, RegressionEvaluation
        declared = None
    else:
        declared = getattr(_predictor(estimator), "classes", None)
        labels, codes = read_labels("dp_cross_validate", y, declared)
        targets, given["labels"] = label_array(labels)[codes], labels
        kind = BinaryEvaluation if len(labels) == 2 else MulticlassEvaluation
        if kind is BinaryEvaluation:
            given["score_range"] = score_range_of(estimator)
        signature(kind.from_predictions).bind(y, y, **given)
        (check_binary if kind is BinaryEvaluation else check_folds)(**given)
    found = {RegressionEvaluation: partial(predicted, classifies=False),
             MulticlassEvaluation: partial(predicted, classifies=True),
             BinaryEvaluation: partial(scores_of, pos_label=options.get("pos_label"))}[kind]
    predict = partial(found, grouped=people is not None)

    def evaluate(rows, found):
        groups = {} if people is None else {"groups": people.codes[rows]}
        return kind.from_predictions(targets[rows], found, **groups, **given)

    return _Held(labels, declared, evaluate, predict)


def _predictor(estimator):
    """Return the final predictor inside searches and pipelines."""
    while hasattr(estimator, "steps") or hasattr(estimator, "estimator"):
        estimator = (estimator.steps[-1][1] if hasattr(estimator, "steps")
                     else estimator.estimator)
    return estimator

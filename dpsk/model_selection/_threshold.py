"""Binary classifier whose decision threshold is chosen under the same budget."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from dpsk._data.errors import quietly, without_warnings
from dpsk._docs import documented
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._parameters import check_integer, check_real, choice
from dpsk._privacy.events import Gaussian
from dpsk._progress import watching
from dpsk._warnings import whole_fit
from dpsk._whole import state_as_whole
from dpsk.model_selection._candidates import responses
from dpsk.model_selection._confusion import THRESHOLD_SCORES, ThresholdScore
from dpsk.model_selection._holdout import HoldoutModel, trained
from dpsk.model_selection._part import Part
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._runs import told_score

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table
    from dpsk.model_selection._plan import SearchPlan

__all__ = ["DPTunedThresholdClassifier"]

#: Grid spacing of the noise on a count.
_COUNT_UNIT = 2.0**-20
_MOST = 10_000


@documented
class DPTunedThresholdClassifier(ClassifierMixin, HoldoutModel):
    """Binary classifier with a privately tuned decision threshold.

    The model is trained on a part of the rows, and the threshold on its probability, or on its
    decision function, is chosen on the held-out rows under noise. Each row is in one part only,
    by its index, so each part has the whole budget.

    Parameters
    ----------
    estimator : estimator
        A classifier of dpsk, or a `DPPipeline` that ends with one. Its `epsilon`, `delta` and
        `verbose` are set here.
    %(epsilon)s
        The budget covers the model, the threshold and its score.
    %(delta_gaussian)s
    scoring : {"accuracy", "balanced_accuracy", "f1"}, default="balanced_accuracy"
        The score that the threshold maximizes. For the last two, a tenth of the held-out part's
        budget counts the rows of the second class. "f1" is that of the second class.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Method whose values are compared with the threshold. "auto": "predict_proba" if the
        estimator has it, else "decision_function".
    thresholds : int or array-like of float, default=100
        Values to choose from. An int: that many from 0 to 1, for probabilities. They must not
        depend on the rows.
    test_size : float, default=0.2
        Fraction of the rows that are held out to choose the threshold.
    random_state : int, NoiseSeed or None, default=None
        None or an int sets the split of rows only. A `dpsk.testing.NoiseSeed` repeats the whole
        fit, for tests: not private for anyone who knows the seed.
    verbose : int or bool, default=0
        1 prints the plan, which is public.

    Attributes
    ----------
    estimator_ : estimator
        The model, trained on the training part and not refitted. Its `privacy_` covers the fit.
    best_threshold_ : float
        The second class is predicted at or above this value.
    best_score_ : float
        Its noisy score on the held-out part, within the range of scores. As the best of several
        it is biased upward. NaN, with a `PrivacyWarning`, if its error exceeds it or a quarter of
        the range.
    best_score_standard_error_ : float
        Standard error of `best_score_` due to noise.
    classes_ : ndarray of shape (2,)
    plan_ : SearchPlan
        The plan that was declared before the fit, see `plan`.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    Raises
    ------
    ValueError
        For a parameter out of range, an estimator whose privacy cost is unknown, a score with
        unknown sensitivity, more than two classes, a `NoiseSeed` with a parameter that cannot
        be pickled, or rows that a fit would refuse; always before any noise is drawn.

    See Also
    --------
    DPGridSearchCV : With ``post_params={"threshold": [...]}``, along with other parameters.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: the model, the threshold and
    its noisy score. If the row that differs is trained on, the model costs mu. If it is held out,
    the count of a class, the choice among all thresholds by Gumbel noise (an exponential
    mechanism) and the score cost mu together: .1, .8 and .1 of its square, for any number of
    thresholds. The number of rows, all parameters, thresholds and the split by index are public.

    References
    ----------
    McSherry, Talwar, "Mechanism design via differential privacy", FOCS 2007; Dong, Durfee, Rogers,
    "Optimal differential privacy composition for exponential mechanisms", ICML 2020;
    ``docs/theory/selection.md``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from dpsk import DPLogisticRegression, DPTunedThresholdClassifier
    >>> X, y = make_classification(4000, weights=[0.9], random_state=0)
    >>> model = DPTunedThresholdClassifier(DPLogisticRegression(), epsilon=2.0).fit(X, y)
    >>> bool(model.best_threshold_ < 0.5)
    True
    >>> model.privacy_.delta_at(2.0) <= model.privacy_.delta
    True
    """

    _chosen = "estimator_"
    _kind = "choice of a threshold"
    _constraints: ClassVar[dict] = {
        **HoldoutModel._constraints, "scoring": choice(*THRESHOLD_SCORES),
        "response_method": choice("auto", "predict_proba", "decision_function")}

    def __init__(self, estimator: Any, *, epsilon: float = 1.0, delta: float | None = None,
                 scoring: str = "balanced_accuracy", response_method: str = "auto",
                 thresholds: int | ArrayLike = 100, test_size: float = 0.2,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.delta = delta
        self.scoring = scoring
        self.response_method = response_method
        self.thresholds = thresholds
        self.test_size = test_size
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags

    def plan(self, n_samples: int) -> SearchPlan:
        """Return the privacy cost of a fit to `n_samples` rows, without any rows.

        Parameters
        ----------
        n_samples : int
            Number of rows, or of groups if `fit` gets groups.

        Returns
        -------
        plan : SearchPlan
            Printed, it states the plan in a sentence. Nothing in it depends on rows.
        """
        self._check_params()
        counts = self.scoring != "accuracy"
        return search_plan(
            *self._allowed(n_samples), 1.0, *self._sizes(n_samples),
            gaussian=self.estimator._is_gaussian, disclosed=self.estimator._disclosed_share,
            choices=len(self._grid()), counts=counts, most_chance=self._most_chance())

    @quietly
    @partial(whole_fit, is_fit=False)
    def fit(self, X: Table, y: Any = None, groups: ArrayLike | None = None, *,
            sample_weight: ArrayLike | None = None) -> Self:
        """Train the model and choose its threshold, under the declared budget.

        Parameters
        ----------
        X : array-like, CSR matrix or table of shape (n, n_features)
            As the estimator takes it.
        y : array-like of shape (n,)
            Labels of two classes, numbers or strings.
        groups : array-like of shape (n,) or None, default=None
            The group, such as the person, of each row, for user-level privacy. Each group is in
            one part only. The threshold is chosen on one row of each, by public randomness.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows in training, protected like the rest of a row. The
            threshold counts rows alike.

        Returns
        -------
        self : object
            The classifier, fitted.
        """
        X, n_samples = self._opened(X)
        self._check_params()
        y, classes = self._checked_targets(y, n_samples)
        if len(classes) > 2:
            raise ValueError("Only binary classification is supported. The label set has "
                             f"{len(classes)} classes; a threshold is of two.")
        table = Part.of(X, y, groups, sample_weight, n_samples, self.random_state)
        thresholds = self._grid()
        plan = replace(self.plan(table.n_units(n_samples)), grouped=table.members is not None)
        plan = self._checked_plan([self.estimator], plan, table)
        method, session, stream = self._opened_session(plan, table, [self.estimator])
        (asks,) = session.runs(plan.event, plan.holdout_event)
        model = self._at_budget(clone(self.estimator), session, classes, plan)
        train, held = self._parts(plan, table)
        held = held.one_each(self.random_state)
        with watching(None):
            without_warnings(trained, model, plan, session.admission, train)
            scores = without_warnings(responses, model, held.X, self._method()).astype(np.float64)
            found = _choose(asks, plan, self.scoring, scores, held.y == classes[1], thresholds)
        certificate = self._certificate(
            method, plan, stream, model.privacy_, classes, enforced=(),
            trusted=self._trusted_facts(),
            released=("estimator_", "best_threshold_", "best_score_"))
        # The model's own certificate covers the training, but not the threshold.
        state_as_whole(model, certificate, self)
        self.estimator_, self.privacy_, self.plan_ = model, certificate, plan
        self.best_threshold_, score, self.best_score_standard_error_ = found
        self.best_score_ = told_score(self.scoring, score, self.best_score_standard_error_,
                                      0.0, 1.0)
        return self

    @quietly
    def predict(self, X: Table) -> AnyArray:
        """Predict the second class where the threshold is reached, else the first.

        Parameters
        ----------
        X : array-like, CSR matrix or table of shape (n, n_features)
            As the estimator takes it.

        Returns
        -------
        y : ndarray of shape (n,)
            Labels.
        """
        check_is_fitted(self)
        reached = responses(self.estimator_, X, self._method()) >= self.best_threshold_
        return self.classes_[reached.astype(int)]

    def score(self, X: Table, y: Any = None) -> float:
        """Return the exact accuracy on rows; not private if the rows are sensitive.

        Parameters
        ----------
        X : array-like, CSR matrix or table of shape (n, n_features)
            As the estimator takes it.
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        score : float
            Fraction of rows that are predicted correctly.
        """
        return super().score(X, y)

    def _check_params(self):
        super()._check_params()
        estimator, name = self.estimator, type(self.estimator).__name__
        if not is_classifier(estimator):
            raise ValueError(f"estimator={name}: not a classifier, so it has no threshold; use "
                             "one.")
        estimator._check_params()
        if not hasattr(estimator, self._method()):
            raise ValueError(f"response_method={self.response_method!r}: {name} has no such "
                             "method; leave 'auto'.")
        self._grid()

    def _method(self):
        """Return the method whose values are compared with the threshold."""
        if self.response_method != "auto":
            return self.response_method
        return ("predict_proba" if hasattr(self.estimator, "predict_proba")
                else "decision_function")

    def _grid(self):
        """Return the thresholds in increasing order."""
        remedy = f"an int in [2, {_MOST}], or a list of finite numbers"
        given = self.thresholds
        if np.ndim(given) == 0:
            count = check_integer("thresholds", given, low=2, high=_MOST, remedy=remedy)
            if self._method() != "predict_proba":
                raise ValueError(f"thresholds={count}: scores by decision_function have no known "
                                 "range; give a list, such as [-1.0, 0.0, 1.0].")
            return np.linspace(0.0, 1.0, count)
        if isinstance(given, dict) or np.ndim(given) != 1 or not 1 <= len(given) <= _MOST:
            raise ValueError(f"thresholds of type {type(given).__name__}: must be {remedy}.")
        return np.unique([check_real("thresholds", value, remedy=remedy) for value in given])


def _choose(asks, plan, scoring, scores, positive, thresholds):
    """Choose a threshold under noise; return it, its noisy score and standard error."""
    n_samples, count = len(scores), None
    if plan.count_mu:
        noisy = asks(Gaussian(plan.count_mu), lambda inside: np.array([float(positive.sum())]),
                     Sensitivity(1.0, unit=_COUNT_UNIT))
        count = float(np.clip(noisy[0], 0.5, n_samples - 0.5))
    score = ThresholdScore(scoring, n_samples, count)

    def values(inside):
        return score.values(scores, positive, thresholds)

    place = 0
    if plan.choices > 1:
        # A change that all scores share does not affect the choice: only the spread counts.
        apart = Sensitivity(score.width, "gumbel", terms=n_samples, size=len(thresholds),
                            rounded=False)
        place = int(asks(plan.choice, values, apart, select=np.argmax))
    moved = Sensitivity(score.moved, terms=n_samples, size=1)
    shown = asks(Gaussian(plan.score_mu), lambda inside: values(inside)[place:place + 1], moved)
    noise = math.hypot(score.moved / plan.score_mu,
                       score.error_of_count / plan.count_mu if plan.count_mu else 0.0)
    return float(thresholds[place]), float(shown[0]), noise

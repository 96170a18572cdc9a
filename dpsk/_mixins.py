"""Mixins of classifiers and of regressors, independent of the solver."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from sklearn.base import ClassifierMixin, RegressorMixin

from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.labels import encode_labels, encoded_rows, labels_fact
from dpsk._data.opening import check_targets
from dpsk._data.targets import check_target_bounds, target_ends
from dpsk._data.weights import class_weighted, is_balanced
from dpsk._models.scores import best_class, log_probabilities, probabilities
from dpsk._parameters import check_learnt
from dpsk._privacy.certificate import Enforced
from dpsk._stages.bounds import can_learn
from dpsk._stages.target_place import place_rule

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray, Table

__all__ = ["BOUNDED_TARGETS", "LEARNT_TARGETS", "BoundedRegressor", "Probabilities",
           "ScoreClassifier"]

#: Constraints of `target_bounds`: declared bounds only, or learned ones as well.
BOUNDED_TARGETS = {
    "target_bounds": lambda name, value: check_target_bounds(value, (-1.0, 1.0))}
LEARNT_TARGETS = {"target_bounds": check_learnt(BOUNDED_TARGETS["target_bounds"])}


class ScoreClassifier(ClassifierMixin):
    """Mixin of classifiers by the scores that `_predict_raw` returns."""

    _target_checks: ClassVar[dict | None] = {}
    #: Whether there may be more than two classes.
    _takes_several: ClassVar[bool] = True
    #: Whether ``class_weight="balanced"`` is supported by shifting the scores.
    _balances: ClassVar[bool] = False
    #: Whether given class weights shift the scores after the fit, and rows are not weighted.
    _moves_log_odds: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # At epsilon=1 a few hundred rows are too few for a network, and 50 for a linear model.
        tags.classifier_tags.poor_score = True
        return tags

    def _check_classes(self, classes):
        """Raise a ValueError if there are more classes than the model takes."""
        if len(classes) > 2 and not self._takes_several:
            raise ValueError("Only binary classification is supported. The label set has "
                             f"{len(classes)} classes; use DPLogisticRegression for more.")

    def _is_balanced(self):
        """Return whether scores are to be those for classes of equal weight."""
        return self._balances and is_balanced(self.class_weight)

    def _label_facts(self, y: Any, n_samples: int) -> list[str]:
        """Return the public facts about labels."""
        name = type(self).__name__
        labels = check_targets(name, y, n_samples, self._target_checks)
        return [labels_fact(encode_labels(labels, self.classes, name)[0], self.classes)]

    def _labeled(self, X, y, sample_weight, groups=None):
        """Return rows with class indices as targets, the classes, and how to fit them."""
        rows = self._read_rows(X, y, sample_weight, groups)
        weighted = rows.is_weighted
        classes, rows = encoded_rows(rows, self.classes, type(self).__name__)
        self._check_classes(classes)
        if not (self._is_balanced() or self._moves_log_odds):
            rows = class_weighted(rows, self.class_weight, classes, self._weight_dtype(rows))
        return rows, classes, {
            "free_weights": weighted,
            "public": [labels_fact(classes, self.classes), *self._weight_facts(sample_weight)]}

    @blockwise
    def decision_function(self, X: Table) -> FloatArray:
        """Return confidence scores of samples.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Sparse where training rows may be.

        Returns
        -------
        scores : ndarray of shape (n,) for two classes, else (n, n_classes)
            Of the second class, or of every class.
        """
        return self._predict_raw(X)

    @blockwise
    def predict(self, X: Table) -> AnyArray:
        """Return the class of highest score of each sample.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        labels : ndarray of shape (n,)
            Of `classes_`.
        """
        # Called first, because it raises NotFittedError.
        codes = best_class(self.decision_function(X))
        return self.classes_[codes]


class Probabilities:
    """Mixin of classifiers whose scores are logits."""

    if TYPE_CHECKING:
        def decision_function(self, X: Table) -> FloatArray: ...

    @blockwise
    @quietly
    def predict_proba(self, X: Table) -> FloatArray:
        """Return class probabilities of samples, in the order of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            Each row sums to 1.
        """
        return probabilities(self.decision_function(X))

    @blockwise
    @quietly
    def predict_log_proba(self, X: Table) -> FloatArray:
        """Return the logarithm of the class probabilities of samples.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        log_probabilities : ndarray of shape (n, n_classes)
            At most 0.
        """
        return log_probabilities(self.decision_function(X))


class BoundedRegressor(RegressorMixin):
    """Mixin of regressors on targets clipped to the public `target_bounds`."""

    _target_checks: ClassVar[dict | None] = {"y_numeric": True}
    #: The default bounds.
    _default_bounds: ClassVar[tuple] = (-1.0, 1.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # At epsilon=1 200 rows of ten features are too few for a better score.
        tags.regressor_tags.poor_score = True
        return tags

    @property
    def _learns_bounds(self):
        """bool : whether the fit learns the bounds."""
        return self.target_bounds is None or isinstance(self.target_bounds, str)

    def _bounds(self):
        """Return the two bounds as floats."""
        low, high = map(float, self.target_bounds)
        return low, high

    def _declared_bounds(self, rows):
        """Return the declared bounds on targets or their fallback; None if they are learned.

        The choice depends on public facts only.
        """
        if not self._learns_bounds:
            return self._bounds()
        if self.epsilon == math.inf:
            # The fit is not private then, and targets are not clipped.
            low, high = zip(*rows.each(target_ends), strict=True)
            return self._widest(min(low), max(high))
        learns = can_learn("target_bounds", self.target_bounds, self._default_bounds,
                           partial(self._check_learnable, self._facts(rows)))
        return None if learns else self._default_bounds

    def _check_learnable(self, facts):
        """Raise a ValueError if, by public facts, bounds on targets cannot be learned."""
        place_rule(facts)

    def _widest(self, low, high):
        """Return bounds that contain all targets between two numbers."""
        return (low, high) if low < high else (low - 1.0, low + 1.0)

    def _target_bound(self, bounds=None):
        """Return the bound on targets, for the certificate."""
        bounds = self._bounds() if bounds is None else bounds
        origin = "default, not declared" if bounds == self._default_bounds else "declared"
        return Enforced("target_bounds", list(bounds), origin, "targets outside are clipped")

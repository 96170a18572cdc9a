"""Gradient boosting classifier with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._defaults.budgets import balance_share
from dpsk._docs import documented
from dpsk._mechanism.core import Share, Statistic
from dpsk._mixins import Probabilities, ScoreClassifier
from dpsk._models.monotone import refuse_several
from dpsk._models.scores import best_class, probabilities
from dpsk._objective.losses import Logistic, Multinomial
from dpsk._stages.class_balance import log_odds, noisy_class_shares
from dpsk.additive import DPAdditiveClassifier
from dpsk.ensemble._base import BoostedTrees
from dpsk.tree._base import weighed_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, FloatArray, Table

__all__ = ["DPGradientBoostingClassifier"]


@documented
class DPGradientBoostingClassifier(Probabilities, ScoreClassifier, BoostedTrees):
    r"""Differentially private gradient boosting classifier of a raw table.

    The score is the score of an additive model plus a sum of trees,

    .. math:: s(x) = s_0(x) + \sum_t v_t(\ell_t(x)),

    where :math:`\ell_t(x)` is the leaf of tree t that x reaches. Each level of a tree applies one
    split to all its nodes. With more than two classes, values have one entry per class. Pass the
    raw table, with categorical and missing values and features of any scale.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    %(init)s %(max_iter_trees)s %(max_depth)s %(learning_rate_trees)s
    %(columns)s %(max_categories)s %(interaction_cst)s
    %(monotonic_cst)s
    %(class_weight_balanced)s %(classes)s %(random_state)s %(verbose)s

    Attributes
    ----------
    init_ : DPAdditiveClassifier, or DPTableVectorizer with init=None
        The model that the trees are added to; it also provides their bins.
    %(classes_)s %(class_shares_)s
    %(feature_importances_)s %(n_iter__trees)s
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPAdditiveClassifier : The additive model alone, with shape functions to plot.

    Notes
    -----
    %(boosting_notes)s

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from dpsk import DPGradientBoostingClassifier
    >>> X, y = make_friedman1(5000, random_state=0)
    >>> model = DPGradientBoostingClassifier(epsilon=8.0, classes=[False, True])
    >>> model = model.fit(X, y > 14)
    >>> model.n_iter_, model.predict_proba(X).shape
    (48, (5000, 2))
    """

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 init: str | None = "additive", max_iter: int | None = None, max_depth: int = 6,
                 learning_rate: float = 0.7, columns: dict[Any, Any] | None = None,
                 max_categories: int | None = None,
                 interaction_cst: str | Sequence[Any] | None = None,
                 monotonic_cst: ArrayLike | dict[Any, int] | None = None,
                 class_weight: dict[Any, float] | str | None = None,
                 classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.init = init
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.columns = columns
        self.max_categories = max_categories
        self.interaction_cst = interaction_cst
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Table, y: Table | None = None,
            sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_table)s %(y_labels)s
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of the rows' losses in any unit, protected like the rest of a row; they are
            divided by a privately learned bound.
        %(groups_trees)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        return self._fit_table(X, y, sample_weight, groups)

    _counts = False
    _balances = True

    def staged_decision_function(self, X: Table) -> Iterator[FloatArray]:
        """Return confidence scores after the additive model and after every tree.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        scores : iterator of ndarray, (n,) for two classes, else (n, n_classes)
            The last item equals the output of `decision_function`.
        """
        return map(self._scores, self._staged_raw(X))

    def staged_predict_proba(self, X: Table) -> Iterator[FloatArray]:
        """Return class probabilities after the additive model and after every tree.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        probabilities : iterator of ndarray, shape (n, n_classes)
            The last item equals the output of `predict_proba`.
        """
        return map(probabilities, self.staged_decision_function(X))

    def staged_predict(self, X: Table) -> Iterator[AnyArray]:
        """Return predicted classes after the additive model and after every tree.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        labels : iterator of ndarray, shape (n,)
            The last item equals the output of `predict`.
        """
        return (self.classes_[best_class(scores)] for scores in self.staged_decision_function(X))

    @property
    def _also_released(self):
        return ("class_shares_",) if self._is_balanced() else ()

    def _predict_raw(self, X):
        return self._scores(self._raw(X))

    def _scores(self, raw):
        """Return raw predictions as class scores, less log odds of classes if balanced."""
        # Use the fitted state, because parameters may have been set since.
        shares = getattr(self, "class_shares_", None)
        scores = raw.copy() if shares is None else raw - log_odds(shares)
        return scores[:, 0] if raw.shape[1] == 1 else scores

    def _additive(self, **params):
        # The additive model is fitted without balancing; `_scores` balances all stages.
        weights = None if self._is_balanced() else self.class_weight
        return DPAdditiveClassifier(class_weight=weights, classes=self.classes, **params)

    def _balance_share(self):
        return balance_share(2**int(self.max_depth)) if self._is_balanced() else 0.0

    def _release_more(self, steps, rows):
        share = self._balance_share()
        if share:
            counted = Share(Statistic(noisy_class_shares), share)
            self.class_shares_ = steps.release("shares of classes", counted, rows,
                                               (rows, len(self.classes_)))

    def _read_targets(self, y):
        classes, codes, factors = weighed_labels(self, y)
        refuse_several(self.monotonic_cst, len(classes))
        n_outputs = 1 if len(classes) == 2 else len(classes)
        loss = Logistic() if len(classes) == 2 else Multinomial()
        return codes, n_outputs, factors, {
            "classes_": classes, "_n_outputs": n_outputs, "_loss": loss}

    def _keep(self, init):
        """Store nothing, because the classes are already known."""

    def _start(self, values, n_outputs):
        if not self.init:
            return np.zeros((len(values), n_outputs))
        return self.init_._raw_of(values).reshape(len(values), n_outputs)

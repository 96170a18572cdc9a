"""Gradient boosting of classes with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._docs import documented
from dpsk._mixins import Probabilities, ScoreClassifier
from dpsk._models.scores import best_class, probabilities
from dpsk._objective.losses import Logistic, Multinomial
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
    r"""Differentially private gradient boosting of a raw table, for classes.

    The score is that of an additive model and a sum of trees,

    .. math:: s(x) = s_0(x) + \sum_t v_t(\ell_t(x)),

    where a tree asks one question a level, so that a leaf :math:`\ell_t(x)` is a string of
    answers; with more than two classes values have one entry a class. The table comes as it is:
    with words, gaps and columns of any scale.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    init : {"additive", None}, default="additive"
        Start of the trees: an additive model at half the budget, or nothing but bins, which a
        tenth of it is spent on.
    max_iter : int or None, default=None
        Number of trees. None: one for every 150 of n mu, 20 to 60; none where n mu is below
        1000 for regression, or 4000 for classes: there the additive model alone is better, gets
        the whole budget, and `n_iter_` is 1.
    max_depth : int, default=6
        Questions that a tree asks, at most 8.
    learning_rate : float, default=0.7
        Factor of the trees' values, in (0, 1].
    %(columns)s %(max_categories)s
    interaction_cst : str, list of sets of columns, or None, default=None
        Columns that a tree may ask for together: "pairwise", "no_interactions" or sets, as in
        scikit-learn; the additive model then has no products. None: any.
    class_weight : dict or None, default=None
        Public weights of the classes' losses. "balanced" is refused: class counts are data.
    %(classes)s %(random_state)s %(verbose)s

    Attributes
    ----------
    init_ : DPAdditiveClassifier, or DPTableVectorizer with init=None
        The model that trees start from, with the bins that they ask for.
    %(classes_)s
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the variance of raw predictions by column; follows from what was released.
    n_iter_ : int
        Number of stages: an additive model and every tree; 1 where that model is better alone.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPAdditiveClassifier : The start alone, which can be read as curves.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-indistinguishable. Released: the additive model, or bins; mean
    squares of what is left, for clipping; for every tree two choices of cuts under noise, among
    some that public randomness draws, and noisy sums of slopes and curvatures over its leaves.
    The number of rows, names and dtypes of columns, labels of classes and all parameters are
    public. There is no `warm_start`: more trees are another fit, with a budget of its own; nor a
    `monotonic_cst`, as the curves of the additive model need not be monotonic; categories are
    told by dtypes and `columns`.

    References
    ----------
    Maddock, Cormode, Wang, Maple, Jha (2022), "Federated boosted decision trees with differential
    privacy"; Kohavi, Li (1995), for trees of one question a level.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> model = DPGradientBoostingClassifier(epsilon=8.0, classes=[0, 1]).fit(X, y)
    >>> model.predict_proba(X).shape
    (569, 2)
    """

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 init: str | None = "additive", max_iter: int | None = None, max_depth: int = 6,
                 learning_rate: float = 0.7, columns: dict[Any, Any] | None = None,
                 max_categories: int | None = None,
                 interaction_cst: str | Sequence[Any] | None = None,
                 class_weight: dict[Any, float] | None = None, classes: ArrayLike | None = None,
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
        self.class_weight = class_weight
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Table, y: Table | None = None,
            sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_table)s %(y_labels)s
        sample_weight : array-like of shape (n,) or None, default=None
            Factors of the rows' losses, part of the rows; in trees larger ones count as 1.

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        return self._fit_table(X, y, sample_weight)

    _counts = False
    _also_released = ()

    def staged_decision_function(self, X: Table) -> Iterator[FloatArray]:
        """Return confidence scores of an additive model, and after every tree.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        scores : iterator of ndarray, (n,) for two classes, else (n, n_classes)
            The last ones are those of `decision_function`.
        """
        return map(_scores, self._staged_raw(X))

    def staged_predict_proba(self, X: Table) -> Iterator[FloatArray]:
        """Return class probabilities of an additive model, and after every tree.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        probabilities : iterator of ndarray, shape (n, n_classes)
            The last ones are those of `predict_proba`.
        """
        return map(probabilities, self.staged_decision_function(X))

    def staged_predict(self, X: Table) -> Iterator[AnyArray]:
        """Return the class of highest score of an additive model, and after every tree.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        labels : iterator of ndarray, shape (n,)
            The last ones are those of `predict`.
        """
        return (self.classes_[best_class(scores)] for scores in self.staged_decision_function(X))

    def _predict_raw(self, X):
        return _scores(self._raw(X))

    def _additive(self, **params):
        return DPAdditiveClassifier(class_weight=self.class_weight, classes=self.classes,
                                    **params)

    def _read_targets(self, n_samples, y, weights):
        classes, codes, weights = weighed_labels(self, y, weights)
        self.classes_, self._n_outputs = classes, 1 if len(classes) == 2 else len(classes)
        self._loss = Logistic() if len(classes) == 2 else Multinomial()
        return codes, self._n_outputs, weights

    def _keep(self, init):
        """Keep nothing more: classes are known."""

    def _start(self, values, n_outputs):
        if not self.init:
            return np.zeros((len(values), n_outputs))
        return self.init_._raw_of(values).reshape(len(values), n_outputs)


def _scores(raw):
    """Return raw predictions as scores of classes."""
    return raw[:, 0].copy() if raw.shape[1] == 1 else raw.copy()

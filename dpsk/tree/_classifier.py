"""Decision tree classifiers with differential privacy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._defaults.trees import CANDIDATE_LEVELS, has_drawn_candidates
from dpsk._docs import documented
from dpsk._mixins import Probabilities, ScoreClassifier
from dpsk._models.scores import probabilities
from dpsk._privacy.noise.public import PublicDraws
from dpsk.tree._base import weighed_labels
from dpsk.tree._drawn import DrawnTree
from dpsk.tree._nodes import OneTree

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["DPDecisionTreeClassifier", "TreeLabels"]


class TreeLabels(Probabilities, ScoreClassifier):
    """Mixin of classifiers that predict the class frequencies of leaves."""

    _scaled = False
    #: Smallest class frequency; smaller ones are raised to it.
    _least = 1e-9

    @property
    def n_classes_(self) -> int:
        """int : number of classes."""
        return len(self.classes_)

    def _predict_raw(self, X):
        return self._scores(self._averages(X))

    def _one_drawn(self):
        """Return the choice of one tree among publicly drawn ones; None without splits."""
        depth = min(self.max_depth or CANDIDATE_LEVELS, CANDIDATE_LEVELS)
        return DrawnTree(depth) if len(self._bins.splits) else None

    def _pure(self, growth):
        return replace(growth, pure=True) if isinstance(growth, DrawnTree) else None

    @property
    def _said(self):
        """ndarray or None : the probabilities of the leaves of one tree, shape (n_leaves, k)."""
        if len(self._trees) > 1:
            return None
        (tree,) = self._trees
        return probabilities(self._scores(tree.means[tree.ends]))

    def _read_targets(self, y):
        classes, codes, factors = weighed_labels(self, y)
        return codes, len(classes), factors, {"classes_": classes}

    def _as_targets(self, numbers, n_outputs):
        if n_outputs == 2:
            return 2.0 * numbers[:, None] - 1.0
        return np.equal(numbers[:, None], np.arange(n_outputs)).astype(np.float64)

    def _scores(self, means):
        """Return the logit of the second of two classes, or log frequencies of more classes."""
        if means.shape[1] == 1:
            return np.log(np.maximum(1.0 + means[:, 0], self._least)) - np.log(
                np.maximum(1.0 - means[:, 0], self._least))
        return np.log(np.maximum(means, self._least))


@documented
class DPDecisionTreeClassifier(TreeLabels, OneTree):
    r"""Differentially private decision tree classifier of a raw table.

    Every node splits on one privately chosen column, and every leaf predicts its noisy class
    frequencies. With few rows, the tree is privately chosen among up to 500 drawn from
    public randomness. Pass the raw table, with categorical and missing values and features of any
    scale.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf, at most 8; with few rows, at most 5.
        None: 4 to 8, larger for more rows and budget.
    %(columns)s
        A column with declared bounds has 32 bins of equal width, at no privacy cost.
    %(max_categories)s
    class_weight : dict or None, default=None
        Public weights of the classes. "balanced" raises an error, as class counts are data.
    %(classes)s %(random_state)s %(verbose)s

    Attributes
    ----------
    tree_ : object
        The nodes: `splits`, `means`, noisy `counts` of rows, and `noise` (of the means).
    %(classes_)s
    n_classes_ : int
    max_features_ : int
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of the explained variance due to splits on each feature, computed from private
        outputs.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    dpsk.tree.export_text : The tree as text.
    dpsk.tree.plot_tree : The tree as a picture.
    DPAdditiveClassifier : Usually more accurate, with shape functions to plot.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released outputs are the bins of
    undeclared columns and, for every level, privately chosen splits and noisy class counts of
    its nodes. If n mu is below 300, the fit instead releases the choice of a public random tree
    with a class for each leaf, and noisy class counts of the leaves.

    That fit satisfies pure epsilon-DP, with delta 0, if all columns are declared and the tree
    does not share its budget (`PrivacyBudget`, pipeline, hyperparameter search or
    cross-validation). It then predicts better, but costs more than a Gaussian fit under
    composition. The number of rows, column names and dtypes, the set of labels and all parameters
    are public. Sample weights are divided by a released bound.

    References
    ----------
    Vos, Vos, Li, Verwer (2023), "Differentially-private decision trees and provable robustness to
    data poisoning"; Hay, Rastogi, Miklau, Suciu (2010), for consistent sums of nodes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPDecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X, columns = X[["mean radius"]], {"mean radius": (5, 30)}
    >>> model = DPDecisionTreeClassifier(epsilon=4.0, columns=columns, classes=[0, 1]).fit(X, y)
    >>> model.predict_proba(X).shape
    (569, 2)
    """

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 max_depth: int | None = None, columns: dict[Any, Any] | None = None,
                 max_categories: int | None = None,
                 class_weight: dict[Any, float] | None = None, classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.max_depth = max_depth
        self.columns = columns
        self.max_categories = max_categories
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
            Weights of the rows in any unit, protected like the rest of a row; they are divided by
            a privately learned bound.
        %(groups_trees)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        return self._fit_table(X, y, sample_weight, groups)

    def _growth(self, budget):
        return (has_drawn_candidates(budget) and self._one_drawn()) or super()._growth(budget)

    def _draws(self, growth):
        return PublicDraws(self.random_state, "splits of trees", growth)

    def _node_values(self):
        means, noise = self.tree_.means, self.tree_.noise
        if means.shape[1] > 1:
            return means, noise
        return np.concatenate([1.0 - means, 1.0 + means], axis=1) / 2.0, noise / 2.0

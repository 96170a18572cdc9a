"""Random forests of a raw table with differential privacy."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import is_classifier

from dpsk._callbacks import private_fit
from dpsk._data.errors import quietly
from dpsk._defaults.trees import (
    BAG,
    LEAST_SHARE,
    forest_levels,
    has_chosen_splits,
    has_one_tree,
    n_trees,
)
from dpsk._docs import documented
from dpsk._models.trees import indicators
from dpsk._parameters import check_integer
from dpsk._privacy.noise.public import PublicDraws
from dpsk.tree._classifier import TreeLabels
from dpsk.tree._growth import NodeSums
from dpsk.tree._nodes import NODE_CONSTRAINTS, SumTrees
from dpsk.tree._regressor import TreeTargets

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import IntArray, Table

__all__ = ["DPRandomForestClassifier", "DPRandomForestRegressor", "Forest"]


def _check_count(name, value):
    """Raise a ValueError unless `value` is "auto" or an int in [1, 1000]."""
    if not (isinstance(value, str) and value == "auto"):
        check_integer(name, value, low=1, high=1000, remedy="'auto', or an int in [1, 1000]")


def _check_features(name, value):
    """Raise a ValueError unless `value` is a valid `max_features`."""
    integer = isinstance(value, Integral) and not isinstance(value, bool) and value >= 1
    share = isinstance(value, Real) and not isinstance(value, Integral) and 0.0 < value <= 1.0
    if not (value is None or integer or share or (
            isinstance(value, str) and value in ("sqrt", "log2"))):
        raise ValueError(f"{name}={value!r}: must be None, 'sqrt', 'log2', an int of at least 1 "
                         "or a float in (0, 1].")


@documented
class Forest(SumTrees):
    """Base of random forests."""

    _constraints: ClassVar[dict] = {**NODE_CONSTRAINTS, "n_estimators": _check_count,
                                    "max_features": _check_features}
    _released: ClassVar[tuple[str, ...]] = ("trees_", "feature_importances_")

    @property
    def trees_(self) -> list[Any]:
        """list : the trees, each with its splits, noisy means and noisy counts."""
        return self._trees

    @quietly
    def apply(self, X: Table) -> IntArray:
        """Return the leaf of each sample in each tree.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        leaves : ndarray of int, shape (n, n_trees)
            Indices of nodes. The children of node i are ``2 i + 1`` and ``2 i + 2``.
        """
        bins = self._binned(X)
        return np.column_stack([tree.leaves(bins) for tree in self._trees])

    @quietly
    def decision_path(self, X: Table) -> tuple[Any, IntArray]:
        """Return the nodes that each sample passes through in the trees.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        indicator : sparse array of shape (n, n_nodes), CSR
            1 where a sample passes through a node, numbered as in `apply`, one tree after another.
        n_nodes_ptr : ndarray of int, shape (n_trees + 1,)
            The columns of tree i are ``n_nodes_ptr[i]`` to ``n_nodes_ptr[i + 1]``.
        """
        bins = self._binned(X)
        return indicators(self._trees, bins)

    def _growth(self, budget):
        n_classes = len(self.classes_) if is_classifier(self) else 1
        count = None if isinstance(self.n_estimators, str) else int(self.n_estimators)
        chosen = has_chosen_splits(budget, n_classes, count)
        count = count or n_trees(budget, chosen)
        depth = self._depth(forest_levels(budget, n_classes, count, chosen))
        given, bag = self.max_features, 1.0
        if not budget.is_private:
            # As in scikit-learn, regression tries all columns.
            given, bag = "sqrt" if given is None and n_classes > 1 else given, BAG
        return NodeSums(count, depth, self._scales(budget), chosen, self._n_tried(given),
                        averaged=True, bag=bag)

    def _draws(self, growth):
        return PublicDraws(self.random_state, "splits of trees", growth)

    def _n_tried(self, given):
        """Return the number of columns to choose each split among; None means all."""
        count = len(self._columns)
        if isinstance(given, str):
            return max(1, int(math.sqrt(count) if given == "sqrt" else math.log2(count)))
        if given is None or isinstance(given, Integral):
            return given
        return max(1, int(given * count))


@documented
class DPRandomForestClassifier(TreeLabels, Forest):
    r"""Differentially private random forest classifier of a raw table.

    Every tree is grown on all rows, and the noisy class frequencies of trees are averaged. Pass
    the raw table, with categorical and missing values and features of any scale. At
    ``epsilon=inf``, each tree is grown on a random subset of the rows. Trees have at most 8
    levels; scikit-learn has no such limit.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    n_estimators : "auto" or int, default="auto"
        Number of trees; they divide the budget among them. "auto": 1 with few rows, 10 to 40 for
        small tables and 2 to 8 for large ones, by public numbers; 40 at ``epsilon=inf``.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf, at most 8. None: 2 to 8, larger for
        more rows and budget.
    max_features : "sqrt", "log2", int, float or None, default=None
        Number of features, drawn from public randomness, that each split is chosen among. None:
        all, or "sqrt" at ``epsilon=inf``.
    %(columns)s
        A column with declared bounds has 32 bins of equal width, at no privacy cost.
    %(max_categories)s
    class_weight : dict or None, default=None
        Public weights of the classes. "balanced" raises an error, as class counts are data.
    %(classes)s %(random_state)s %(verbose)s

    Attributes
    ----------
    trees_ : list
        The trees, each with `splits`, `means`, noisy `counts` of rows, and `noise` (of the means).
    %(classes_)s
    n_classes_ : int
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of the explained variance due to splits on each feature, computed from private
        outputs.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_classes)s

    See Also
    --------
    DPGradientBoostingClassifier : More accurate for many rows.
    DPDecisionTreeClassifier : A single, interpretable tree.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released outputs are the bins of
    undeclared columns and, for every tree, noisy class counts of its leaves. For large tables,
    the fit also releases privately chosen splits of every level, with noisy class counts of their
    nodes.
    For small tables, splits are drawn from public randomness. With few rows, the fit is that of a
    `DPDecisionTreeClassifier`, with delta 0 under the same conditions. The choice among the three
    depends on public facts only. The number of rows, column names and dtypes, the set of labels
    and all parameters are public. Sample weights are divided by a released bound.

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), "Extremely randomized trees"; Fletcher, Islam (2019),
    "Decision tree classification with differential privacy: a survey".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from dpsk import DPRandomForestClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X, columns = X[["alcohol", "hue"]], {"alcohol": (11, 15), "hue": (0.4, 1.8)}
    >>> model = DPRandomForestClassifier(epsilon=4.0, columns=columns, classes=[0, 1, 2])
    >>> model.fit(X, y).predict_proba(X).shape
    (178, 3)
    """

    # Estimated class frequencies may be below 0 or above 1.
    _least = LEAST_SHARE

    def _growth(self, budget):
        one = isinstance(self.n_estimators, str) and has_one_tree(budget, len(self.classes_))
        return (one and self._one_drawn()) or super()._growth(budget)

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 n_estimators: int | str = "auto", max_depth: int | None = None,
                 max_features: float | str | None = None, columns: dict[Any, Any] | None = None,
                 max_categories: int | None = None,
                 class_weight: dict[Any, float] | None = None, classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_features = max_features
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


@documented
class DPRandomForestRegressor(TreeTargets, Forest):
    r"""Differentially private random forest regressor of a raw table.

    Every tree is grown on all rows, and the noisy means of trees are averaged. Pass the raw
    table, with categorical and missing values and features of any scale. At ``epsilon=inf``, each
    tree is grown on a random subset of the rows. Trees have at most 8 levels; scikit-learn has no
    such limit.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    target_bounds : "auto", None or (float, float), default="auto"
        Public bounds to which targets are clipped, or how to determine them, as for
        `DPLinearRegression`.
    n_estimators : "auto" or int, default="auto"
        Number of trees; they divide the budget among them. "auto": 10 to 40 for small tables and
        2 to 8 for large ones, by the number of rows and the budget; 40 at ``epsilon=inf``.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf, at most 8. None: 2 to 8, larger for
        more rows and budget.
    max_features : "sqrt", "log2", int, float or None, default=None
        Number of features, drawn from public randomness, that each split is chosen among. None:
        all.
    %(columns)s
        A column with declared bounds has 32 bins of equal width, at no privacy cost.
    %(max_categories)s %(random_state)s %(verbose)s

    Attributes
    ----------
    trees_ : list
        The trees, each with `splits`, `means`, noisy `counts` of rows, and `noise` (of the means).
    %(target_bounds_)s
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of the explained variance due to splits on each feature, computed from private
        outputs.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    DPGradientBoostingRegressor : More accurate for many rows.
    DPDecisionTreeRegressor : A single, interpretable tree.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released outputs are the bins of
    undeclared columns, undeclared target bounds, the mean and spread of the targets and, for
    every tree, noisy target sums and counts of its leaves. For large tables, the fit also releases
    privately chosen splits of every level, with noisy sums of their nodes. For small tables,
    splits are drawn from public randomness. The choice between the two depends on public facts
    only. The number of rows, column names and dtypes, and all parameters are public. Sample
    weights are divided by a released bound.

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), "Extremely randomized trees".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPRandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = DPRandomForestRegressor(epsilon=8.0, target_bounds=(25, 350),
    ...                                 columns={"bmi": (-0.1, 0.2)})
    >>> model.fit(X[["bmi"]], y).predict(X[["bmi"]]).shape
    (442,)
    """

    _constraints: ClassVar[dict] = {**TreeTargets._constraints, **Forest._constraints}
    _released = (*Forest._released, "target_bounds_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto",
                 n_estimators: int | str = "auto", max_depth: int | None = None,
                 max_features: float | str | None = None, columns: dict[Any, Any] | None = None,
                 max_categories: int | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_features = max_features
        self.columns = columns
        self.max_categories = max_categories
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Table, y: Table | None = None,
            sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_table)s %(y_targets)s
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

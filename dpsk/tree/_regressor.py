"""Decision trees of targets with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.targets import centered, middle_of, numeric_targets
from dpsk._docs import documented
from dpsk._mixins import LEARNT_TARGETS, BoundedRegressor
from dpsk._problem import Budget
from dpsk._stages import TargetBounds
from dpsk.tree._nodes import NODE_CONSTRAINTS, OneTree

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["DPDecisionTreeRegressor", "TreeTargets"]


class TreeTargets(BoundedRegressor):
    """Mixin of regressors by the means of targets in leaves."""

    _constraints: ClassVar[dict] = {**NODE_CONSTRAINTS, **LEARNT_TARGETS}
    _scaled = True

    @blockwise
    @quietly
    def predict(self, X: Table) -> AnyArray:
        """Return predicted targets.

        Parameters
        ----------
        X : DataFrame, or array-like of shape (n, n_features)
            Rows as in `fit`.

        Returns
        -------
        targets : ndarray of shape (n,)
            Within `target_bounds_`.
        """
        return self._unscaled(self._averages(X)[:, 0])

    def _label_facts(self, y, n_samples):
        return []

    def _read_targets(self, n_samples, y, weights):
        return numeric_targets(y), 1, None if weights is None else np.minimum(weights, 1.0), {}

    def _facts(self, rows):
        return Budget(rows.n_units, 1, *self._budget(rows.n_units))

    def _start_fit(self, steps, budget, plan, data, targets, told):
        bounds = self._declared_bounds(targets)
        start, share = super()._start_fit(steps, budget, plan, data, targets, told)
        if bounds:
            steps.enforce(self._target_bound(bounds))
        else:
            stage = TargetBounds(centered, np.float64)
            share -= steps.learn(stage, targets)
            bounds = stage.value
        self.target_bounds_ = bounds
        return start, share

    def _as_targets(self, numbers, n_outputs):
        low, high = self.target_bounds_
        middle, unit = middle_of(low, high)
        return (np.clip(numbers, low, high)[:, None] - middle) / (unit if unit > 0.0 else 1.0)

    def _unscaled(self, means):
        low, high = self.target_bounds_
        middle, unit = middle_of(low, high)
        return np.clip(middle + unit * means, low, high)


@documented
class DPDecisionTreeRegressor(TreeTargets, OneTree):
    r"""Differentially private decision tree of a raw table, for numbers.

    Every node asks one question of one column, chosen under noise, and every leaf predicts its
    noisy mean. The table comes as it is: with words, gaps and columns of any scale.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    target_bounds : "auto", None or (float, float), default="auto"
        Public bounds of the targets, which are clipped to them, or how to get some, as for
        `DPLinearRegression`.
    max_depth : int or None, default=None
        Questions from the root to a leaf, at most 8. None: up to 8, by n mu, none for few rows.
    %(columns)s
        Between two bounds 32 bins of equal width cost nothing.
    %(max_categories)s %(random_state)s %(verbose)s

    Attributes
    ----------
    tree_ : object
        The nodes: `splits`, `means`, noisy `counts` of rows and `noise` on means.
    %(target_bounds_)s
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of the variance that splits by a column explain; follows from what was released.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    dpsk.tree.export_text : The tree as text.
    dpsk.tree.plot_tree : The tree as a picture.
    DPAdditiveRegressor : Mostly more accurate, and read as curves.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released: bins of columns and bounds of
    targets that are not declared; mean and spread of the targets; for every level the splits of
    its nodes, one choice under noise, and noisy sums of targets, three deviations about their
    mean, with noisy counts. The number of rows, names and dtypes of columns and all parameters are
    public. Weights beyond 1 count as 1.

    References
    ----------
    Vos, Vos, Li, Verwer (2023), "Differentially-private decision trees and provable robustness to
    data poisoning"; Hay, Rastogi, Miklau, Suciu (2010), for sums of nodes that agree.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPDecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = DPDecisionTreeRegressor(epsilon=8.0, target_bounds=(25, 350),
    ...                                 columns={"bmi": (-0.1, 0.2)})
    >>> model.fit(X[["bmi"]], y).predict(X[["bmi"]]).shape
    (442,)
    """

    _released = (*OneTree._released, "target_bounds_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto",
                 max_depth: int | None = None, columns: dict[Any, Any] | None = None,
                 max_categories: int | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.max_depth = max_depth
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
            Factors of the rows, part of the rows; larger ones count as 1.
        %(groups_trees)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        return self._fit_table(X, y, sample_weight, groups)

    def _node_values(self):
        unit = middle_of(*self.target_bounds_)[1]
        return self._unscaled(self.tree_.means), unit * self.tree_.noise

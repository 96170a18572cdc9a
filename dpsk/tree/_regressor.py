"""Decision tree regressors with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.targets import centered, middle_of
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


@documented
class TreeTargets(BoundedRegressor):
    """Mixin of regressors that predict the mean targets of leaves."""

    _constraints: ClassVar[dict] = {**NODE_CONSTRAINTS, **LEARNT_TARGETS}
    _scaled = True

    @blockwise
    @quietly
    def predict(self, X: Table) -> AnyArray:
        """Return predicted targets.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        targets : ndarray of shape (n,)
            Within `target_bounds_`.
        """
        return self._unscaled(self._averages(X)[:, 0])

    def _label_facts(self, y, n_samples):
        return []

    def _read_targets(self, y):
        return y, 1, None, {}

    def _facts(self, rows):
        return Budget(rows.n_units, 1, *self._budget(rows.n_units))

    def _start_fit(self, steps, budget, plan, data, targets, told, left):
        bounds = self._declared_bounds(targets)
        start, share = super()._start_fit(steps, budget, plan, data, targets, told, left)
        if bounds:
            steps.enforce(self._target_bound(bounds))
        else:
            stage = TargetBounds(centered, np.float64)
            steps.learn(stage, targets)
            share -= steps.share_of(stage)
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
    r"""Differentially private decision tree regressor of a raw table.

    Every node splits on one privately chosen column, and every leaf predicts its noisy mean. Pass
    the raw table, with categorical and missing values and features of any scale.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    target_bounds : "auto", None or (float, float), default="auto"
        Public bounds to which targets are clipped, or how to determine them, as for
        `DPLinearRegression`.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf, at most 8. None: 0 to 8, larger for
        more rows and budget.
    %(columns)s
        A column with declared bounds has 32 bins of equal width, at no privacy cost.
    %(max_categories)s %(random_state)s %(verbose)s

    Attributes
    ----------
    tree_ : object
        The nodes: `splits`, `means`, noisy `counts` of rows, and `noise` (of the means).
    %(target_bounds_)s
    max_features_ : int
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of the explained variance due to splits on each feature, computed from private
        outputs.
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    dpsk.tree.export_text : The tree as text.
    dpsk.tree.plot_tree : The tree as a picture.
    DPAdditiveRegressor : Usually more accurate, with shape functions to plot.

    Notes
    -----
    *Privacy.* For data sets of n rows that differ in one row, changed arbitrarily, the fitted
    attributes are (epsilon, delta)-differentially private. Released outputs are the bins of
    undeclared columns, undeclared target bounds, the mean and spread of the targets and, for
    every level, one private choice of splits, noisy target sums and noisy counts. Targets enter
    these sums clipped at about three standard deviations from their mean. The number of rows,
    column names and dtypes, and all parameters are public. Sample weights are divided by a
    released bound.

    References
    ----------
    Vos, Vos, Li, Verwer (2023), "Differentially-private decision trees and provable robustness to
    data poisoning"; Hay, Rastogi, Miklau, Suciu (2010), for consistent sums of nodes.

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
            Weights of the rows in any unit, protected like the rest of a row; they are divided by
            a privately learned bound.
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

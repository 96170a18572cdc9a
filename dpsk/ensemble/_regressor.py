"""Gradient boosting regressor with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._data.targets import centered, middle_of
from dpsk._docs import documented
from dpsk._mixins import LEARNT_TARGETS, BoundedRegressor
from dpsk._objective.losses import Squared
from dpsk.additive import DPAdditiveRegressor
from dpsk.ensemble._base import BoostedTrees

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["DPGradientBoostingRegressor"]


@documented
class DPGradientBoostingRegressor(BoundedRegressor, BoostedTrees):
    r"""Differentially private gradient boosting regressor of a raw table.

    The prediction is the prediction of an additive model plus a sum of trees,

    .. math:: f(x) = f_0(x) + \sum_t v_t(\ell_t(x)),

    where :math:`\ell_t(x)` is the leaf of tree t that x reaches. Each level of a tree applies one
    split to all its nodes. Pass the raw table, with categorical and missing values and features
    of any scale.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    target_bounds : "auto", None or (float, float), default="auto"
        Public bounds to which targets are clipped, or how to determine them, as for
        `DPAdditiveRegressor`. With ``init=None``, two numbers are required.
    %(init)s %(max_iter_trees)s %(max_depth)s %(learning_rate_trees)s
    %(columns)s %(max_categories)s %(interaction_cst)s
    %(monotonic_cst)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    init_ : DPAdditiveRegressor, or DPTableVectorizer with init=None
        The model that the trees are added to; it also provides their bins.
    %(target_bounds_)s
    %(feature_importances_)s %(n_iter__trees)s
    %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises)s

    See Also
    --------
    DPAdditiveRegressor : The additive model alone, with shape functions to plot.

    Notes
    -----
    %(boosting_notes)s

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from dpsk import DPGradientBoostingRegressor
    >>> X, y = make_friedman1(5000, random_state=0)
    >>> model = DPGradientBoostingRegressor(epsilon=8.0, target_bounds=(0, 30)).fit(X, y)
    >>> model.n_iter_, model.predict(X).shape
    (48, (5000,))
    """

    _constraints: ClassVar[dict] = {
        **BoostedTrees._constraints, **LEARNT_TARGETS}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto",
                 init: str | None = "additive", max_iter: int | None = None, max_depth: int = 6,
                 learning_rate: float = 0.7, columns: dict[Any, Any] | None = None,
                 max_categories: int | None = None,
                 interaction_cst: str | Sequence[Any] | None = None,
                 monotonic_cst: ArrayLike | dict[Any, int] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.init = init
        self.max_iter = max_iter
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.columns = columns
        self.max_categories = max_categories
        self.interaction_cst = interaction_cst
        self.monotonic_cst = monotonic_cst
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
            Weights of the rows' losses in any unit, protected like the rest of a row; they are
            divided by a privately learned bound.
        %(groups_trees)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        return self._fit_table(X, y, sample_weight, groups)

    _counts = True
    _loss = Squared()
    _n_outputs = 1
    _also_released = ("target_bounds_",)

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
        return self._targets(self._raw(X))

    def staged_predict(self, X: Table) -> Iterator[AnyArray]:
        """Return predicted targets after the additive model and after every tree.

        Parameters
        ----------
        %(X_raw)s

        Returns
        -------
        targets : iterator of ndarray, shape (n,)
            The last item equals the output of `predict`.
        """
        return map(self._targets, self._staged_raw(X))

    def _targets(self, raw):
        low, high = self.target_bounds_
        middle, half = middle_of(low, high)
        return np.clip(middle + half * raw[:, 0], low, high)

    def _check_combination(self):
        super()._check_combination()
        known = not (self.target_bounds is None or isinstance(self.target_bounds, str))
        if self.init is None and not known:
            raise ValueError(f"target_bounds={self.target_bounds!r}: with init=None nothing is "
                             "learnt of targets; declare two bounds, or use init='additive'.")

    def _additive(self, **params):
        return DPAdditiveRegressor(target_bounds=self.target_bounds, **params)

    def _label_facts(self, y, n_samples):
        return []

    def _read_targets(self, y):
        return y, 1, None, {}

    def _keep(self, init):
        self.target_bounds_ = self._bounds() if init is None else init.target_bounds_

    @property
    def _unit(self):
        return middle_of(*self.target_bounds_)[1]

    def _scaled(self, numbers):
        low, high = self.target_bounds_
        return centered(np.clip(numbers, low, high), low, high)

    def _start(self, values, n_outputs):
        if not self.init:
            return np.zeros((len(values), 1))
        found = np.clip(self.init_._raw_of(values), *self.target_bounds_)
        return self._scaled(found)[:, None]

"""Additive regression with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.blockwise import blockwise
from dpsk._data.errors import quietly
from dpsk._defaults.columns import TARGET_PAIRS
from dpsk._docs import documented
from dpsk._mixins import LEARNT_TARGETS, BoundedRegressor
from dpsk._parameters import with_implied_norm
from dpsk.additive._base import AdditiveModel
from dpsk.linear_model import DPLinearRegression

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import AnyArray, Table

__all__ = ["DPAdditiveRegressor"]


@documented
class DPAdditiveRegressor(BoundedRegressor, AdditiveModel):
    r"""Additive least squares on a raw table, trained with differential privacy.

    The prediction for a row is a sum of shape functions, one for each column: a curve if it is
    numeric, else a value for every category,

    .. math:: f(x) = b + \sum_j f_j(x_j),

    with intercept b. Curves are linear between knots, which are private quantiles of the column.
    Skewed columns are on a logarithmic scale. Targets are clipped to bounds and mapped to [-1, 1],
    where the fit minimizes half the mean squared residual under noise. Pass the raw table, with
    categorical and missing values and features of any scale. Only its number of rows, column
    names, dtypes and all parameters are public.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s %(target_bounds)s %(columns)s %(n_knots)s
    %(max_categories)s %(interactions)s %(monotonic_cst)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(terms_)s
    term_importances_ : ndarray of shape (n_terms,)
        Effect of each of `terms_` on predictions: the root mean square of its `centered` values,
        weighted by private frequencies.
    %(feature_importances__additive)s %(term_coef_)s %(intercept_)s %(target_bounds_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s
    %(privacy_)s

    %(raises)s

    See Also
    --------
    DPLinearRegression : For numeric features of similar scale.

    Notes
    -----
    %(privacy_additive)s

    References
    ----------
    Hastie, Tibshirani (1990), "Generalized additive models"; Kaplan, Schnapp, Stemmer (2022),
    for recursive quantiles; Korolova, Kenthapadi, Mishra, Ntoulas (2009), for categories.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dpsk import DPAdditiveRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = DPAdditiveRegressor(epsilon=4.0, target_bounds=(25, 350))
    >>> model.fit(X[["bmi", "bp"]], y).predict(X[["bmi", "bp"]]).shape
    (442,)
    """

    _constraints: ClassVar[dict] = {
        **AdditiveModel._constraints, **LEARNT_TARGETS}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 target_bounds: tuple[float, float] | str | None = "auto",
                 columns: dict[Any, Any] | None = None, n_knots: str | int = "auto",
                 max_categories: int | None = None,
                 interactions: str | int | Sequence[tuple[Any, Any]] = "auto",
                 monotonic_cst: ArrayLike | dict[Any, int] | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.target_bounds = target_bounds
        self.columns = columns
        self.n_knots = n_knots
        self.max_categories = max_categories
        self.interactions = interactions
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state
        self.verbose = verbose

    @private_fit
    def fit(self, X: Table, y: Table | None = None,
            sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_table)s %(y_targets)s %(sample_weight)s %(groups_model)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        model = self._fit_table(X, y, sample_weight, groups)
        self.term_coef_, self.intercept_ = model.coef_, model.intercept_
        self.target_bounds_ = model.target_bounds_
        return self

    _released = ("term_coef_", "intercept_", "target_bounds_")
    _pair_rule = TARGET_PAIRS

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
        return np.clip(self._predict_raw(X), *self.target_bounds_)

    def _linear(self, **params):
        model = with_implied_norm(DPLinearRegression(target_bounds=self.target_bounds, **params))
        model._of_shares, model._bounds_weights = True, False
        return model

    def _check_fit(self, n_samples, y):
        return y

    def _check_share(self, n_samples, y, epsilon, delta):
        self._linear(epsilon=epsilon, delta=delta)._check_fit(n_samples, y)

    def _residuals(self, model, features, y):
        low, high = model.target_bounds_
        left = np.clip(y, low, high) - model.predict(features)
        return left[:, None] / (0.5 * (high - low))

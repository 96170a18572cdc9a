"""Additive classification with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._callbacks import private_fit
from dpsk._data.labels import encode_labels
from dpsk._data.weights import class_factors
from dpsk._defaults.columns import CLASS_PAIRS
from dpsk._docs import documented
from dpsk._mixins import Probabilities, ScoreClassifier
from dpsk._models.monotone import refuse_several
from dpsk._parameters import with_implied_norm
from dpsk.additive._base import AdditiveModel
from dpsk.linear_model import DPLogisticRegression

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import Table

__all__ = ["DPAdditiveClassifier"]


@documented
class DPAdditiveClassifier(Probabilities, ScoreClassifier, AdditiveModel):
    r"""Additive logistic model of a raw table, trained with differential privacy.

    The score of a row is a sum of shape functions, one for each column: a curve if it is numeric,
    else a value for every category,

    .. math:: s(x) = b + \sum_j f_j(x_j),

    with intercept b. The fit minimizes the loss (prediction error): the logistic one for two
    classes, and the multinomial one for more. Curves are linear between knots, which are private
    quantiles of the column. Skewed columns are on a logarithmic scale. Pass the raw table, with
    categorical and missing values and features of any scale. Only its number of rows, names and
    types of columns, the set of labels and all parameters are public.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s %(columns)s %(n_knots)s %(max_categories)s
    %(interactions)s %(monotonic_cst)s
    %(class_weight_balanced)s %(classes)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(terms_)s
    term_importances_ : ndarray of shape (n_terms,)
        Effect of each of `terms_` on predictions: the root mean square of its `centered` values,
        weighted by private frequencies.
    %(feature_importances__additive)s %(term_coef_)s
    intercept_ : ndarray of shape (1,), or (n_classes,) for several classes
    %(classes_)s
    temperature_ : float or None
        Privately chosen number by which scores were divided. None if no budget was used for it.
    %(class_shares_)s
    %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_columns)s

    See Also
    --------
    DPLogisticRegression : For numeric features of similar scale.

    Notes
    -----
    %(privacy_additive)s

    References
    ----------
    Hastie, Tibshirani (1990), "Generalized additive models"; Kaplan, Schnapp, Stemmer (2022),
    for recursive quantiles; Korolova, Kenthapadi, Mishra, Ntoulas (2009), for categories.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dpsk import DPAdditiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = DPAdditiveClassifier(epsilon=4.0).fit(X[["mean radius", "mean texture"]], y)
    >>> model.predict_proba(X[["mean radius", "mean texture"]]).shape
    (569, 2)
    >>> model.terms_[0].axes[0].column
    'mean radius'
    """

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 columns: dict[Any, Any] | None = None, n_knots: str | int = "auto",
                 max_categories: int | None = None,
                 interactions: str | int | Sequence[tuple[Any, Any]] = "auto",
                 monotonic_cst: ArrayLike | dict[Any, int] | None = None,
                 class_weight: dict[Any, float] | str | None = None,
                 classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.n_knots = n_knots
        self.max_categories = max_categories
        self.interactions = interactions
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
        %(X_table)s %(y_labels)s %(sample_weight)s %(groups_model)s

        Returns
        -------
        self : object
            The estimator, fitted.
        """
        model = self._fit_table(X, y, sample_weight, groups)
        self.classes_, self.intercept_ = model.classes_, model.intercept_
        self.term_coef_ = model.coef_
        self.temperature_ = model.temperature_
        if self._is_balanced():
            self.class_shares_ = model.class_shares_
        return self

    _pair_rule = CLASS_PAIRS
    _spares = False
    _balances = True

    @property
    def _released(self):
        found = "term_coef_", "intercept_", "temperature_"
        return (*found, "class_shares_") if self._is_balanced() else found

    def _linear(self, **params):
        model = with_implied_norm(DPLogisticRegression(**{
            "class_weight": self.class_weight, "classes": self.classes, **params}))
        model._bounds_weights = False
        return model

    def _first_linear(self, **params):
        # With balanced classes, residuals are computed from a model without class weights.
        return self._linear(**params, **({"class_weight": None} if self._is_balanced() else {}))

    def _check_fit(self, n_samples, y):
        classes, codes = encode_labels(y, self.classes, type(self).__name__)
        refuse_several(self.monotonic_cst, len(classes))
        if self.class_weight is not None:
            class_factors(self.class_weight, classes, self._balances)
        return codes

    def _n_classes(self, y):
        return len(encode_labels(y, self.classes, type(self).__name__)[0])

    def _residuals(self, model, features, y):
        _, codes = encode_labels(y, model.classes_, type(self).__name__)
        labels = np.eye(len(model.classes_))[codes]
        left = labels - model.predict_proba(features)
        # Two classes have one residual, that of the second class.
        return left[:, 1:] if left.shape[1] == 2 else left

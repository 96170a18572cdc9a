"""Additive regression with differential privacy."""

from dpsk._docs import documented
from dpsk.additive._base import AdditiveModel
from dpsk.linear_model._least_squares import LeastSquares

__all__ = ["DPAdditiveRegressor"]


@documented
class DPAdditiveRegressor(AdditiveModel, LeastSquares):
    r"""Additive least squares on a raw table, trained with differential privacy.

    The prediction for a row is a sum of one curve a column of numbers and one value a category,

    .. math:: f(x) = b + \sum_j f_j(x_j).

    Curves are straight between knots. Targets are clipped to bounds and mapped to [-1, 1]; there
    half the mean squared residual is minimized, under noise. The table comes as it is: with words,
    gaps and columns of any scale; of it no more is public than the kinds of its columns.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s %(target_bounds)s %(columns)s %(n_knots)s
    %(max_categories)s %(random_state)s %(verbose)s

    Attributes
    ----------
    %(terms_)s %(coef__additive)s %(intercept_)s %(target_bounds_)s
    %(preconditioner__additive)s %(n_iter_)s %(n_features_in_)s %(feature_names_in_)s
    %(privacy_)s

    %(raises)s

    Notes
    -----
    %(privacy_additive)s

    See Also
    --------
    DPLinearRegression : For rows of numbers that are bounded and scaled alike.

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

    def __init__(self, epsilon=1.0, *, delta=None, target_bounds="auto", columns=None,
                 n_knots="auto", max_categories=None, random_state=None, verbose=0):
        self._store(locals())

    def fit(self, X, y=None, sample_weight=None):
        """Fit the model under the declared budget.

        Parameters
        ----------
        %(X_table)s %(y_targets)s %(sample_weight)s

        Returns
        -------
        self : object
        """
        return super().fit(X, y, sample_weight)

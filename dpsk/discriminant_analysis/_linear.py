"""Linear discriminant analysis with differential privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from dpsk._data.errors import quietly
from dpsk._data.labels import encode_labels
from dpsk._docs import documented
from dpsk._output import check_output_container
from dpsk._parameters import check_flag, check_integer, optional
from dpsk.discriminant_analysis._base import CHECK_SHARE, diagonal, raised
from dpsk.naive_bayes._base import GaussianClasses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState
    from dpsk._typing import FloatArray, Table

__all__ = ["DPLinearDiscriminantAnalysis"]

#: Directions with less than this share of the largest variance between classes are set to 0.
_LEAST_DIRECTION = 1e-8


@documented
class DPLinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin,
                                   GaussianClasses):
    r"""Linear discriminant analysis trained with differential privacy.

    Rows of a class are normal about its mean, with one covariance for all classes, so that the
    score of a class is linear:

    .. math:: s_c(x) = (x - \tfrac12 (\mu_c + m))^\top \Sigma^{-1} (\mu_c - m) + \log \pi_c,

    with m the mean of all rows.

    One query releases the noisy counts and sums of all classes and the second moment of all rows,
    or only its diagonal where noise hides covariances (``n mu < 3 d``).

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    shrinkage : float or None, default=None
        Weight of the mean variance in the covariance, in [0, 1]; columns are measured in half
        ranges if there are ranges, and in their own unit in scikit-learn. None: 0.
        Variances below three fifths of the size of the noise are always raised to it.
    priors : array-like of shape (n_classes,) or None, default=None
        Public probabilities of the classes, in their sorted order. None: from noisy counts.
    n_components : int or None, default=None
        Number of directions that `transform` keeps. None: the smaller of n_features and
        n_classes - 1, which is the largest.
    store_covariance : bool, default=False
        Whether to keep `covariance_`.
    %(feature_range)s %(data_norm_ranged)s
    %(classes)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_in_), or (n_classes, n_features_in_) for several
        Coefficients for rows in their original units.
    intercept_ : ndarray of shape (1,), or (n_classes,) for several
    means_ : ndarray of shape (n_classes, n_features_in_)
        Means of the classes, shrunk toward the mean of all rows where noise hides them.
    priors_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    xbar_ : ndarray of shape (n_features_in_,)
        Mean of the class means, weighted by `priors_`.
    scalings_ : ndarray of shape (n_features_in_, min(n_classes - 1, n_features_in_))
        Directions that separate the classes, best first, with variance 1 within classes. The
        largest entry of each is positive. Computed from `coef_`, `means_` and `priors_`.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Fractions of the variance between classes in these directions.
    covariance_ : ndarray of shape (n_features_in_, n_features_in_)
        Covariance within classes, with small variances raised; only with `store_covariance`.
    %(ranged)s
    %(classes_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_moments)s

    See Also
    --------
    DPQuadraticDiscriminantAnalysis : With a covariance for every class.
    DPLogisticRegression : Fits the boundary between classes, not their distributions.

    Notes
    -----
    %(privacy_moments)s

    ``decision_function(X)`` is ``X @ coef_.T + intercept_``, for two classes the difference of
    their scores, with X bounded as in training: clipped to `feature_range_` if there are ranges,
    and scaled down to the norm `data_norm_` about `center_`. The covariance is that of rows within
    these bounds; scores of longer rows would be too large.

    References
    ----------
    Fisher (1936), "The use of multiple measurements in taxonomic problems"; Dwork, Talwar,
    Thakurta, Zhang (2014), "Analyze Gauss", Algorithm 1, for the second moment.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPLinearDiscriminantAnalysis
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPLinearDiscriminantAnalysis(epsilon=4.0, feature_range=(0, 16),
    ...                                      classes=range(10)).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    """

    _moments_of: ClassVar[str] = "all"
    _constraints: ClassVar[dict] = {
        **GaussianClasses._constraints, "shrinkage": optional(CHECK_SHARE),
        "n_components": optional(lambda *given: check_integer(
            *given, low=1, remedy="None, or an int >= 1")),
        "store_covariance": check_flag}
    _later: ClassVar[tuple] = ("n_components",)
    _shown: ClassVar[tuple] = ("coef_", "intercept_", "means_", "priors_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 shrinkage: float | None = None, priors: ArrayLike | None = None,
                 n_components: int | None = None, store_covariance: bool = False,
                 feature_range: tuple[float, float] | str | None = "auto",
                 data_norm: float | str | None = "auto", classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.feature_range = feature_range
        self.data_norm = data_norm
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    @quietly
    def transform(self, X: Table) -> FloatArray:
        """Return the coordinates of rows in the directions that separate the classes.

        Parameters
        ----------
        %(X_dense)s

        Returns
        -------
        coordinates : ndarray of shape (n, n_components)
            ``(X - xbar_) @ scalings_``, with X bounded as in training.
        """
        rows = self._checked(X)
        apart: FloatArray = self._bounded(rows) - self.xbar_
        return (apart @ self.scalings_[:, :self.n_components]).astype(rows.dtype, copy=False)

    @property
    def xbar_(self) -> FloatArray:
        """ndarray of shape (n_features,) : mean of `means_`, weighted by `priors_`."""
        return self.means_[0] + self.priors_ @ (self.means_ - self.means_[0])

    @property
    def scalings_(self) -> FloatArray:
        """ndarray of shape (n_features, n_directions) : directions, best first."""
        return self._directions()[0]

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """ndarray of shape (n_components,) : fractions of the variance between classes."""
        squares = self._directions()[1]
        return (squares / max(float(squares.sum()), 1e-300))[:self.n_components]

    @property
    def _n_features_out(self):
        return len(self.explained_variance_ratio_)

    def _directions(self):
        """Return the directions, and the variances between classes in them, (n_directions,)."""
        # Coefficients are the inverse covariance times differences of means.
        coef = self.coef_ if len(self.coef_) > 1 else np.vstack([0.0 * self.coef_, self.coef_])
        coef = np.sqrt(self.priors_)[:, None] * (coef - self.priors_ @ coef)
        apart = np.sqrt(self.priors_)[:, None] * (self.means_ - self.xbar_)
        count = min(len(apart) - 1, len(self.xbar_))
        squares, turned = np.linalg.eigh(0.5 * (apart @ coef.T + coef @ apart.T))
        squares, turned = np.maximum(squares[::-1][:count], 0.0), turned[:, ::-1][:, :count]
        scalings = coef.T @ turned / np.sqrt(np.maximum(squares, 1e-300))
        scalings *= squares > _LEAST_DIRECTION * squares[0]
        largest = np.abs(scalings).argmax(axis=0)
        return scalings * np.where(scalings[largest, np.arange(count)] < 0.0, -1.0, 1.0), squares

    def _check_table(self, X, y):
        X, y = self._check_rows(X, y)
        self._check_classes(encode_labels(y, self.classes, type(self).__name__)[0], X.shape[1])

    def _check_classes(self, classes, width=math.inf):
        super()._check_classes(classes)
        most = min(width, len(classes) - 1)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(f"n_components={self.n_components!r}: must be at most {most}, the "
                             "smaller of n_features and n_classes - 1.")

    def _release(self, rows, budget, classes, public):
        self._check_classes(classes, rows.n_features)
        check_output_container(self)
        super()._release(rows, budget, classes, public)

    def _keep(self, fitted, budget):
        shares, means, covariance, noise = fitted.laws
        self.priors_ = self._priors(shares, fitted.count_noise)
        values, vectors = ((diagonal(covariance, noise), None) if fitted.of_columns
                           else raised(covariance, noise))
        share = self.shrinkage or 0.0
        values = (1.0 - share) * values + share * values.mean()
        halves = self._halves()
        self.means_ = np.array([fitted.row_map.undone(mean.copy()) for mean in means])
        # Products of means far from 0 would lose the digits of their differences.
        apart = self.means_ - self.center_
        coef = apart / halves / values if vectors is None else (
            apart / halves @ vectors / values) @ vectors.T
        coef /= halves
        # The logarithm of a prior of 0 is -inf, so its class is never predicted.
        with np.errstate(divide="ignore"):
            priors = np.log(self.priors_)
        intercept = (priors - coef @ self.center_ - 0.5 * np.einsum("ij,ij->i", coef, apart))
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept
        if self.store_covariance:
            self.covariance_ = np.outer(halves, halves) * (
                np.diag(values) if vectors is None else vectors * values @ vectors.T)

    def _predict_raw(self, X):
        X = self._checked(X)
        scores = (self._bounded(X) @ self.coef_.T + self.intercept_).astype(X.dtype, copy=False)
        return scores[:, 0] if len(self.coef_) == 1 else scores

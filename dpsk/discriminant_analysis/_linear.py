"""Linear discriminant analysis with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._docs import documented
from dpsk._parameters import check_flag, optional
from dpsk.discriminant_analysis._base import CHECK_SHARE, diagonal, raised
from dpsk.naive_bayes._base import GaussianClasses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPLinearDiscriminantAnalysis"]


@documented
class DPLinearDiscriminantAnalysis(GaussianClasses):
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
        Weight of the mean variance in the covariance, in [0, 1], as in scikit-learn. None: 0.
        Variances below three fifths of the size of the noise are always raised to it.
    priors : array-like of shape (n_classes,) or None, default=None
        Public probabilities of the classes, in their sorted order. None: from noisy counts.
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
        "store_covariance": check_flag}
    _shown: ClassVar[tuple] = ("coef_", "intercept_", "means_", "priors_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 shrinkage: float | None = None, priors: ArrayLike | None = None,
                 store_covariance: bool = False,
                 feature_range: tuple[float, float] | str | None = "auto",
                 data_norm: float | str | None = "auto", classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.shrinkage = shrinkage
        self.priors = priors
        self.store_covariance = store_covariance
        self.feature_range = feature_range
        self.data_norm = data_norm
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

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
        intercept = (np.log(np.maximum(self.priors_, 1e-300))
                     - coef @ self.center_ - 0.5 * np.einsum("ij,ij->i", coef, apart))
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept
        if self.store_covariance:
            self.covariance_ = np.outer(halves, halves) * (
                np.diag(values) if vectors is None else vectors * values @ vectors.T)

    def _predict_raw(self, X):
        scores = self._bounded(self._checked(X)) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.coef_) == 1 else scores

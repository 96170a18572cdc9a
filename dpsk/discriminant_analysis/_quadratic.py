"""Quadratic discriminant analysis with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._docs import documented
from dpsk._parameters import check_flag
from dpsk._stages.class_plan import FEW_COLUMNS
from dpsk.discriminant_analysis._base import CHECK_SHARE, diagonal, raised
from dpsk.naive_bayes._base import GaussianClasses, JointScores, log_law

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPQuadraticDiscriminantAnalysis"]


@documented
class DPQuadraticDiscriminantAnalysis(JointScores, GaussianClasses):
    r"""Quadratic discriminant analysis trained with differential privacy.

    Rows of a class are normal about its mean, with its own covariance:

    .. math:: \log P(c, x) = \log \pi_c - \tfrac12 \log \det \Sigma_c
              - \tfrac12 (x - \mu_c)^\top \Sigma_c^{-1} (x - \mu_c).

    One query releases the noisy counts, sums and second moments of all classes. With more than
    64 columns, rows are first projected to the principal directions that exceed the noise. Where
    noise hides covariances (``n mu < 3 d``), only squares of columns are released, and all classes
    have one diagonal covariance.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    reg_param : float, default=0.0
        Weight of the identity in the covariances, in [0, 1], as in scikit-learn; columns are
        measured in half ranges if there are ranges. Variances below three fifths of the size of
        the noise are always raised to it.
    priors : array-like of shape (n_classes,) or None, default=None
        Public probabilities of the classes, in their sorted order. None: from noisy counts.
    store_covariance : bool, default=False
        Whether to keep `covariance_`.
    %(feature_range)s %(data_norm_ranged)s
    %(classes)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    means_ : ndarray of shape (n_classes, n_features_in_)
        Means of the classes, shrunk toward the mean of all rows where noise hides them.
    priors_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    rotations_ : list of ndarray of shape (n_features_in_, n_directions)
        The principal axes of every class: ``(x - means_[c]) @ rotations_[c]`` is uncorrelated.
        They are orthonormal for rows measured in half ranges, if there are ranges.
    scalings_ : list of ndarray of shape (n_directions,)
        The variances along these axes, with small ones raised.
    covariance_ : list of ndarray of shape (n_features_in_, n_features_in_)
        Covariances of the classes; only with `store_covariance`.
    %(ranged)s
    %(classes_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_moments)s

    See Also
    --------
    DPLinearDiscriminantAnalysis : With one covariance, for fewer rows.
    DPGaussianSampler : Draws synthetic data from the same model.

    Notes
    -----
    %(privacy_moments)s

    The covariance of a class is shrunk toward that of all classes where noise hides the
    difference.

    References
    ----------
    Friedman (1989), "Regularized discriminant analysis"; Dwork, Talwar, Thakurta, Zhang (2014),
    "Analyze Gauss", Algorithm 1, for the second moments.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPQuadraticDiscriminantAnalysis
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPQuadraticDiscriminantAnalysis(epsilon=4.0, feature_range=(0, 16),
    ...                                         classes=range(10)).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    """

    _constraints: ClassVar[dict] = {**GaussianClasses._constraints, "reg_param": CHECK_SHARE,
                                    "store_covariance": check_flag}
    _shown: ClassVar[tuple] = ("means_", "priors_", "rotations_", "scalings_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 reg_param: float = 0.0, priors: ArrayLike | None = None,
                 store_covariance: bool = False,
                 feature_range: tuple[float, float] | str | None = "auto",
                 data_norm: float | str | None = "auto", classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.reg_param = reg_param
        self.priors = priors
        self.store_covariance = store_covariance
        self.feature_range = feature_range
        self.data_norm = data_norm
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    def _reduces(self, width):
        return width > FEW_COLUMNS

    def _keep(self, fitted, budget):
        shares, means, covariances, noise = fitted.laws
        self.priors_ = self._priors(shares, fitted.count_noise)
        halves, basis = self._halves(), fitted.basis
        if fitted.of_columns:
            basis = np.eye(len(halves))
            axes = [(diagonal(covariances, noise), basis)] * len(means)
        else:
            axes = [raised(one, own) for one, own in zip(covariances, noise, strict=True)]
            means = means @ basis.T
        self.means_ = np.array([fitted.row_map.undone(mean.copy()) for mean in means])
        self.scalings_ = [(1.0 - self.reg_param) * values + self.reg_param for values, _ in axes]
        # All axes of single columns are one array.
        self.rotations_ = [np.diag(1.0 / halves)] * len(axes) if fitted.of_columns else [
            basis @ vectors / halves[:, None] for _, vectors in axes]
        if self.store_covariance:
            self.covariance_ = [np.diag(fitted.rest * halves**2) + (each * values) @ each.T
                                for values, (_, vectors) in zip(self.scalings_, axes, strict=True)
                                for each in [halves[:, None] * (basis @ vectors)]]

    def _log_laws(self, X):
        X = self._bounded(X)
        return np.column_stack([
            log_law(prior, values, ((X - mean) @ axes)**2 / values)
            for prior, mean, axes, values in zip(self.priors_, self.means_, self.rotations_,
                                                 self.scalings_, strict=True)])

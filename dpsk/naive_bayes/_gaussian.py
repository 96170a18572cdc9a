"""Gaussian naive Bayes with differential privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import INDEPENDENCE_SIGNAL
from dpsk._docs import documented
from dpsk._parameters import number
from dpsk.naive_bayes._base import GaussianClasses, JointScores, log_law

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPGaussianNB"]

#: scikit-learn's default of var_smoothing, relative to the largest variance.
_LEAST_PORTION = 1e-9
_CHECK_SMOOTHING = number("'auto', or a finite number >= 0", low=0)


def _check_smoothing(name, value):
    if not (isinstance(value, str) and value == "auto"):
        _CHECK_SMOOTHING(name, value)


@documented
class DPGaussianNB(JointScores, GaussianClasses):
    r"""Gaussian naive Bayes trained with differential privacy.

    Within a class every column is normal, and columns are independent:

    .. math:: \log P(c, x) = \log \pi_c - \frac12 \sum_j \left(\log 2 \pi \sigma_{cj}^2
              + \frac{(x_j - \theta_{cj})^2}{\sigma_{cj}^2}\right).

    One query releases the noisy counts, sums and sums of squares of all classes.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    priors : array-like of shape (n_classes,) or None, default=None
        Public probabilities of the classes, in their sorted order. None: from noisy counts.
    var_smoothing : "auto" or float, default="auto"
        Portion of the largest variance of all columns that is added to variances, as in
        scikit-learn, in addition to smoothing for the noise. "auto": variances are shrunk toward
        the pooled variance plus its mean over columns, by a weight that falls as n and epsilon
        grow. Few rows of dependent columns do not support one variance per class.
    %(feature_range)s %(data_norm_ranged)s
    %(classes)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    theta_ : ndarray of shape (n_classes, n_features_in_)
        Means of the classes, shrunk toward the mean of all rows where noise hides them.
    var_ : ndarray of shape (n_classes, n_features_in_)
        Variances, including the uncertainty of the means due to noise.
    class_prior_ : ndarray of shape (n_classes,)
        Probabilities of the classes.
    %(ranged)s
    %(classes_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_moments)s

    See Also
    --------
    DPLinearDiscriminantAnalysis : Correlated columns, with one covariance for all classes.
    DPLogisticRegression : Fits the boundary between classes, not their distributions.

    Notes
    -----
    %(privacy_moments)s

    As epsilon grows it tends to scikit-learn's `GaussianNB`, on rows within their bounds.

    References
    ----------
    Vaidya, Shafiq, Basu, Hong (2013), "Differentially private naive Bayes classification", which
    releases every moment separately; Dong, Roth, Su (2022), for the composition.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPGaussianNB
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPGaussianNB(epsilon=4.0, feature_range=(0, 16), classes=range(10)).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    """

    _moments_of: ClassVar[str] = "columns"
    _keeps_single: ClassVar[bool] = True
    _shown: ClassVar[tuple] = ("theta_", "var_", "class_prior_")
    _constraints: ClassVar[dict] = {**GaussianClasses._constraints,
                                    "var_smoothing": _check_smoothing}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None,
                 priors: ArrayLike | None = None, var_smoothing: float | str = "auto",
                 feature_range: tuple[float, float] | str | None = "auto",
                 data_norm: float | str | None = "auto", classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.feature_range = feature_range
        self.data_norm = data_norm
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    def _keep(self, fitted, budget):
        shares, means, variances, pooled = fitted.laws
        if self.var_smoothing == "auto":
            drawn = min(1.0, math.sqrt(INDEPENDENCE_SIGNAL / budget.signal_to_noise))
            variances = drawn * (pooled + pooled.mean()) + (1.0 - drawn) * variances
            variances += _LEAST_PORTION * variances.max()
        self.class_prior_ = self._priors(shares, fitted.count_noise)
        self.theta_ = np.array([fitted.row_map.undone(mean.copy()) for mean in means])
        self.var_ = variances * self._halves()**2
        if self.var_smoothing != "auto":
            self.var_ += float(self.var_smoothing) * self.var_.max()

    def _log_laws(self, X):
        X = self._bounded(X)
        # A variance is 0 if all rows are equal and there is no noise.
        variances = np.maximum(self.var_, np.finfo(np.float64).tiny)
        return np.column_stack([
            log_law(prior, 2.0 * math.pi * own, (X - mean)**2 / own)
            for prior, mean, own in zip(self.class_prior_, self.theta_, variances, strict=True)])

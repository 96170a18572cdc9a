"""Bernoulli naive Bayes with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.validation import FLOATS
from dpsk._docs import documented
from dpsk._mechanism.core import Statistic
from dpsk._parameters import number, optional
from dpsk._stages.class_shares import flag_shares
from dpsk._statistics.class_counts import are_set, noisy_flag_counts
from dpsk.naive_bayes._discrete import DiscreteNB

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPBernoulliNB"]


@documented
class DPBernoulliNB(DiscreteNB):
    r"""Bernoulli naive Bayes, trained with differential privacy.

    Every feature is binary, with its own probability of 1 in every class. One query releases the
    noisy counts of the classes, and of the rows of each class with each feature set.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    alpha : float, default=1.0
        Pseudo-count of each of the two values, at least 1e-10, in addition to smoothing for the
        noise. With `sample_weight`, one counts as much as the mean row.
    binarize : float or None, default=0.0
        Threshold: greater numbers count as 1. None: all numbers but 0 count as 1.
    %(fit_prior)s %(class_prior)s
    %(classes)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    %(class_log_prior_)s %(class_count_)s
    feature_log_prob_ : ndarray of shape (n_classes, n_features_in_)
        Logarithms of the probabilities of 1, shrunk toward those of all classes where noise hides
        the difference.
    %(temperature_)s
    %(classes_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_moments)s

    See Also
    --------
    DPMultinomialNB : For counts, such as word counts.
    DPCategoricalNB : For features with several categories.

    Notes
    -----
    %(privacy_counts)s

    References
    ----------
    Vaidya, Shafiq, Basu, Hong (2013), "Differentially private naive Bayes classification".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPBernoulliNB
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPBernoulliNB(epsilon=4.0, binarize=8.0, classes=range(10)).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    """

    _row_checks: ClassVar[dict] = {"dtype": FLOATS, "accept_sparse": "csr"}
    _takes_counts: ClassVar[bool] = False
    _constraints: ClassVar[dict] = {
        **DiscreteNB._constraints, "binarize": optional(number("None, or a finite number"))}

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, alpha: float = 1.0,
                 binarize: float | None = 0.0, fit_prior: bool = True,
                 class_prior: ArrayLike | None = None, classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    def _release(self, rows, budget, classes, public):
        if rows.is_sparse and self.binarize is not None and self.binarize < 0:
            raise ValueError(f"binarize={self.binarize!r}: must be >= 0 of a sparse matrix, whose "
                             "zeros would be 1.")
        found = self._run(
            "noisy counts of classes", rows, budget, Statistic(noisy_flag_counts),
            (rows, len(classes), self.binarize), enforced=[], public=public, released=self._shown)
        counts, alpha = self._keep_counts(rows, found.counts, found.count_noise)
        shares, self.temperature_ = flag_shares(counts, found.sums, found.sum_noise, alpha)
        self.feature_log_prob_ = np.log(shares)

    def _log_laws(self, X):
        unset = np.log1p(-np.exp(self.feature_log_prob_))
        scores = are_set(X, self.binarize) @ (self.feature_log_prob_ - unset).T
        return (scores + unset.sum(axis=1)) / self.temperature_ + self.class_log_prior_

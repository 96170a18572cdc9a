"""Multinomial naive Bayes with differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse import issparse

from dpsk._data.norms import absolute_sums
from dpsk._data.validation import FLOATS
from dpsk._defaults.budgets import DIRECTION_CUT
from dpsk._docs import documented
from dpsk._mechanism.core import Composite, Priced, Share, Statistic
from dpsk._parameters import PARAMETER_CONSTRAINTS, check_learnt
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import Composed
from dpsk._problem import Budget
from dpsk._stages.bounds import can_learn
from dpsk._stages.centered import learnt_norm, spread_rule
from dpsk._stages.class_shares import log_distributions, temperature_of
from dpsk._statistics.class_counts import noisy_row_sums
from dpsk.naive_bayes._discrete import DiscreteNB, check_not_negative

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPMultinomialNB"]

#: Default bound on row norms, if it is neither declared nor learnt.
_PLAIN_NORM = 1.0
#: Least divisor.
_TINY = 1e-300
_WORDS = "l2 norm of one row of counts; longer rows are scaled down to it in training"


@documented
class DPMultinomialNB(DiscreteNB):
    r"""Multinomial naive Bayes, for example on word counts, with differential privacy.

    The entries of a row are counts of features, which are drawn with fixed probabilities in every
    class. One query releases the noisy counts and feature sums of all classes.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    alpha : float, default=1.0
        Pseudo-count of every feature, at least 1e-10, in addition to smoothing for the noise.
        With `sample_weight`, one counts as much as the mean row.
    %(fit_prior)s %(class_prior)s
    data_norm : "auto", None or float, default="auto"
        Rows of greater l2 norm are scaled down to it in training, which keeps the proportions
        within a row. None: a fiftieth to a tenth of the budget goes to a private quantile of the
        norms; a ValueError if there are too few rows. "auto": like None with enough rows, else 1,
        with a `dpsk.exceptions.PrivacyWarning`.
    %(classes)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    %(class_log_prior_)s %(class_count_)s
    feature_log_prob_ : ndarray of shape (n_classes, n_features_in_)
        Logarithms of the feature probabilities, shrunk toward those of all classes where noise
        hides the difference.
    feature_log_prob_std_ : ndarray of shape (n_classes, n_features_in_)
        Estimated standard deviation of the noise left in them, without the error of shrinkage.
        By it, predictions are less sure of rows that vary more than independent counts do.
    data_norm_ : float
        The bound on row norms in training, declared or privately estimated.
    %(temperature_)s
    %(classes_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_moments)s

    See Also
    --------
    DPBernoulliNB : For binary features.
    DPLogisticRegression : Fits the boundary between classes, not their distributions.

    Notes
    -----
    %(privacy_counts)s

    References
    ----------
    Vaidya, Shafiq, Basu, Hong (2013), "Differentially private naive Bayes classification".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPMultinomialNB
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPMultinomialNB(epsilon=4.0, classes=range(10)).fit(X, y)
    >>> bool(model.score(X, y) > 0.7)
    True
    """

    _row_checks: ClassVar[dict] = {"dtype": FLOATS, "accept_sparse": "csr"}
    _constraints: ClassVar[dict] = {
        **DiscreteNB._constraints, "data_norm": check_learnt(PARAMETER_CONSTRAINTS["data_norm"])}
    _shown: ClassVar[tuple] = (*DiscreteNB._shown, "feature_log_prob_std_", "data_norm_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, alpha: float = 1.0,
                 fit_prior: bool = True, class_prior: ArrayLike | None = None,
                 data_norm: float | str | None = "auto", classes: ArrayLike | None = None,
                 random_state: RandomState | None = None, verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.data_norm = data_norm
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    def _release(self, rows, budget, classes, public):
        check_not_negative(rows, type(self).__name__)
        norm = self._norm(budget)
        origin = "default" if self.data_norm in ("auto", None) else "declared"
        found, radius = self._run(
            "noisy sums of classes", rows, budget, _Sums(budget, len(classes), norm), (rows,),
            enforced=[Enforced("data_norm", norm, origin, _WORDS)] * (norm is not None),
            public=[*public, *self._shown_facts(rows, norm is None)], released=self._shown)
        counts, alpha = self._keep_counts(rows, found.counts, found.count_noise)
        self.data_norm_ = float(radius)
        (self.feature_log_prob_,), (self.feature_log_prob_std_,), self.temperature_ = (
            log_distributions([found.sums], counts, found.sum_noise, alpha))

    def _norm(self, budget):
        """Return the bound on row norms; None if it is learnt."""
        if self.data_norm not in ("auto", None):
            return float(self.data_norm)

        learns = not budget.is_private or can_learn(
            "data_norm", self.data_norm, _PLAIN_NORM, partial(spread_rule, budget))
        return None if learns else _PLAIN_NORM

    def _check_fit(self, n_samples, y):
        super()._check_fit(n_samples, y)
        self._norm(Budget(n_samples, 1, *self._budget(n_samples)))

    def _log_laws(self, X):
        scores = X @ self.feature_log_prob_.T / self.temperature_ + self.class_log_prior_
        return scores / self._shortening(X)

    def _shortening(self, X):
        """Return what also divides log odds, at least 1, shape (n, 1); predictions stay.

        `temperature_` is for the noise of rows of independent counts. Rows spread wider have more
        noise. Their log odds are too long without noise already, by their dispersion: their
        squared distance from the nearest class, over that of independent counts. No more is taken.
        """
        sizes = np.maximum(absolute_sums(X), _TINY)[:, None]
        X = X.multiply(1.0 / sizes).tocsr() if issparse(X) else X / sizes
        squares = X.multiply(X) if issparse(X) else X * X
        shares, variances = np.exp(self.feature_log_prob_.T), self.feature_log_prob_std_.T**2
        # As all shares sum to 1, each noise counts by how far the row's share is from the class's.
        noises = squares @ variances - 2.0 * (X @ (shares * variances)) + np.sum(
            shares**2 * variances, axis=0)
        distances = squares @ (1.0 / shares) - 1.0
        noise, distance = (np.maximum(each.min(axis=1, keepdims=True), 0.0)
                           for each in (noises, distances))
        # The distance of independent counts, times their sum, is chi-squared.
        free = X.shape[1] - 1.0
        dispersion = sizes * distance / max(1.0, free + math.sqrt(2.0 * free))
        return np.maximum(1.0, np.minimum(temperature_of(sizes * np.sqrt(noise)), dispersion)
                          / self.temperature_)


@dataclass(frozen=True)
class _Sums(Composite):
    """Sums of rows of each class, with a norm bound that is learnt if `norm` is None."""

    budget: Budget
    n_classes: int
    norm: float | None

    @property
    def parts(self):
        """tuple of Mechanism : the bound, and the sums."""
        norm = self.norm
        rule = partial(spread_rule, cut=DIRECTION_CUT)
        bound = (learnt_norm(self.budget, rule) if norm is None
                 else Priced(Composed(()), lambda rows, session: norm))
        return bound, Share(Statistic(noisy_row_sums), 1.0)

    def run(self, data, session, noise_multiplier):
        """Return the `ClassCounts` of rows, and the bound."""
        (rows,), (bound, sums) = data, self.parts
        radius = bound.run((rows,), session, noise_multiplier)
        if self.norm is None and self.budget.is_private:
            session.enforced.append(Enforced("data_norm", radius, "released", _WORDS))
        return sums.run((rows, self.n_classes, radius), session, noise_multiplier), radius

"""Categorical naive Bayes with differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._defaults.budgets import RANGE_TAILS
from dpsk._docs import documented
from dpsk._mechanism.core import Composite, Share, Statistic, mu_of
from dpsk._models.bins import BinnedRows
from dpsk._privacy.certificate import Enforced
from dpsk._problem import Budget
from dpsk._stages.bounds import can_learn
from dpsk._stages.class_shares import log_distributions
from dpsk._stages.column_bounds import bounds_rule, learnt_bounds
from dpsk._statistics.tables import noisy_tables, table_noise
from dpsk.naive_bayes._discrete import DiscreteNB, check_not_negative

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpsk._privacy.noise.seeds import RandomState

__all__ = ["DPCategoricalNB"]

#: Default number of categories of a column, and the maximum that is learnt.
_PLAIN, _MOST = 32, 1024


def _check_categories(name, value):
    """Raise a ValueError unless `value` is a valid `min_categories`."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    given = np.asarray(value) if not isinstance(value, str) else np.asarray([])
    if not (given.ndim <= 1 and given.size and given.dtype.kind in "iu" and np.all(given >= 1)
            and np.all(given <= 10**6)):
        raise ValueError(f"{name}={value!r}: must be 'auto', None, or an int >= 1, or one a "
                         "column.")


@documented
class DPCategoricalNB(DiscreteNB):
    r"""Categorical naive Bayes, trained with differential privacy.

    Every column holds codes 0, 1, ..., each with its own probability in every class. One query
    releases the noisy contingency tables of all columns by class.

    Parameters
    ----------
    %(epsilon)s %(delta_gaussian)s
    alpha : float, default=1.0
        Pseudo-count of every category, at least 1e-10, in addition to smoothing for the noise.
        With `sample_weight`, one counts as much as the mean row.
    %(fit_prior)s %(class_prior)s
    min_categories : "auto", None, int or array-like of shape (n_features,), default="auto"
        Public number of categories of the columns; larger codes count as the last one. None: at
        least 2, from a privately estimated quantile per column, for at most two fifths of the
        budget in all; a ValueError if there are too few rows. "auto": like None with enough rows,
        else 32, with a `dpsk.exceptions.PrivacyWarning`.
    %(classes)s
    %(random_state)s %(verbose)s

    Attributes
    ----------
    %(class_log_prior_)s %(class_count_)s
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        For every column the logarithms of the probabilities of its categories, shrunk toward
        those of all classes where noise hides the difference.
    n_categories_ : ndarray of shape (n_features_in_,)
        The number of categories of every column, declared or privately estimated.
    %(temperature_)s
    %(classes_)s %(n_features_in_)s %(feature_names_in_)s %(privacy_)s

    %(raises_moments)s

    See Also
    --------
    DPAdditiveClassifier : For raw tables, including categorical values.

    Notes
    -----
    %(privacy_counts)s

    References
    ----------
    Vaidya, Shafiq, Basu, Hong (2013), "Differentially private naive Bayes classification".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dpsk import DPCategoricalNB
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DPCategoricalNB(epsilon=4.0, min_categories=3, classes=range(10)).fit(X // 6, y)
    >>> bool(model.score(X // 6, y) > 0.7)
    True
    """

    _constraints: ClassVar[dict] = {**DiscreteNB._constraints, "min_categories": _check_categories}
    _shown: ClassVar[tuple] = (*DiscreteNB._shown, "n_categories_")

    def __init__(self, epsilon: float = 1.0, *, delta: float | None = None, alpha: float = 1.0,
                 fit_prior: bool = True, class_prior: ArrayLike | None = None,
                 min_categories: ArrayLike | str | None = "auto",
                 classes: ArrayLike | None = None, random_state: RandomState | None = None,
                 verbose: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.classes = classes
        self.random_state = random_state
        self.verbose = verbose

    def _release(self, rows, budget, classes, public):
        check_not_negative(rows, type(self).__name__)
        sizes = self._sizes(budget)
        names = getattr(self, "feature_names_in_", range(rows.n_features))
        declared = [] if sizes is None else [Enforced(
            "min_categories", max(sizes), "default" if isinstance(self.min_categories, str)
            else "declared", "larger codes count as the last category; the most of a column")]
        tables, sizes, noise = self._run(
            "noisy tables of classes", rows, budget, _Tables(budget, len(classes), sizes),
            (rows, names), enforced=declared, released=self._shown,
            public=[*public, *self._shown_facts(rows, sizes is None)])
        # Class counts: the inverse-variance weighted mean over the tables of all columns.
        weights = 1.0 / np.array(sizes)
        counts = np.sum([weight * table.sum(axis=1) for weight, table in
                         zip(weights, tables, strict=True)], axis=0) / weights.sum()
        counts, alpha = self._keep_counts(rows, counts, noise / np.sqrt(weights.sum()))
        self.n_categories_ = np.array(sizes)
        self.feature_log_prob_, _, self.temperature_ = log_distributions(
            tables, counts, noise, alpha)

    def _sizes(self, budget):
        """Return the numbers of categories; None if they are learnt."""
        given, width = self.min_categories, budget.n_columns
        if not (given is None or isinstance(given, str)):
            sizes = np.asarray(given)
            if sizes.ndim and len(sizes) != width:
                raise ValueError(f"min_categories={given!r}: must be an int, or one for each of "
                                 f"the {width} columns.")
            return tuple(np.broadcast_to(sizes, width).tolist())

        learns = not budget.is_private or can_learn(
            "min_categories", given, _PLAIN, partial(_rule, width, budget),
            effect="larger codes count as the last")
        return None if learns else (_PLAIN,) * width

    def _log_laws(self, X):
        codes = np.empty(X.shape, np.int64)
        _binned(self.n_categories_).dense(X, codes)
        scores = sum(table[:, codes[:, place]].T
                     for place, table in enumerate(self.feature_log_prob_))
        return scores / self.temperature_ + self.class_log_prior_


@dataclass(frozen=True)
class _Tables(Composite):
    """Tables of all columns by class, of `sizes` categories; None: sizes are learnt."""

    budget: Budget
    n_classes: int
    sizes: tuple | None

    @property
    def parts(self):
        """tuple of Mechanism : the bounds of the codes, and the tables."""
        width = self.budget.n_columns
        places = tuple(range(width)) if self.sizes is None else ()
        return (learnt_bounds(self.budget, places, partial(_rule, width),
                              only_high=True),
                Share(Statistic(noisy_tables), 1.0))

    def run(self, data, session, noise_multiplier):
        """Return the noisy tables, the numbers of categories, and the noise per cell."""
        (rows, names), (ends, tables), sizes = data, self.parts, self.sizes
        if sizes is None:
            highs = ends.run((rows,), session, noise_multiplier)[:, 1]
            # Code 0 of most rows hides rarer codes, and a single category would say nothing.
            least = int(self.budget.is_private)
            sizes = tuple((np.clip(np.rint(highs), least, _MOST - 1).astype(int) + 1).tolist())
            if self.budget.is_private:
                session.enforced += [
                    Enforced(f"categories of {name}", size, "released",
                             "larger codes count as the last category")
                    for name, size in zip(names, sizes, strict=True)]
        columns = [(place,) for place in range(len(sizes))]
        found = tables.run((rows.viewed(_binned(sizes)), sizes, self.n_classes, columns), session,
                           noise_multiplier)
        return found, sizes, table_noise(len(sizes), mu_of(tables.own(noise_multiplier)))


def _rule(width, budget):
    """Apply `bounds_rule` to code bounds; raise a ValueError if rows are too few."""
    return bounds_rule(budget, width, "min_categories", RANGE_TAILS, medians=False)


def _binned(sizes):
    """Return the map that rounds codes and clips them to the number of categories."""
    return BinnedRows([np.arange(size + 1) - 0.5 for size in sizes])

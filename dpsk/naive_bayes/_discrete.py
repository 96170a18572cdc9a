"""Base of naive Bayes classifiers that use counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.source import Rows
from dpsk._parameters import check_flag, number
from dpsk._stages.class_shares import shrunk_shares
from dpsk._statistics.class_moments import COUNT_UNIT
from dpsk._warnings import follows_private_step
from dpsk.naive_bayes._base import CHECK_PRIORS, JointScores

if TYPE_CHECKING:
    from typing import Any

__all__ = ["DiscreteNB", "check_not_negative"]

#: Number of rows per block.
_PART = 1 << 14


def check_not_negative(rows, name):
    """Raise a ValueError if a number is negative, before any noise is drawn.

    Rows that a private step of a pipeline has mapped are not checked, and their negative numbers
    count as 0: a refusal would compare a row exactly with what that step has learned.
    """
    if not follows_private_step() and any(rows.each(_any_negative)):
        raise ValueError(f"Negative values in data passed to {name} (input X): counts are none; "
                         "shift or leave out such columns.")


def _heavy(rows):
    """Return the number of rows of positive weight."""
    return sum(np.count_nonzero(rows.beside(part)[1]) for part in rows.blocks(_PART))


def _any_negative(rows):
    blocks = (rows.take(part).X for part in rows.blocks(_PART))
    return any(bool((getattr(X, "data", X) if rows.is_sparse else X).min(initial=0.0) < 0)
               for X in blocks)


class DiscreteNB(JointScores):
    """Base of naive Bayes models with discrete distributions, and their class priors."""

    _prior_name: ClassVar[str] = "class_prior"
    _constraints: ClassVar[dict] = {
        **{name: check for name, check in JointScores._constraints.items() if name != "priors"},
        "alpha": number("a finite number >= 0", low=0), "fit_prior": check_flag,
        "class_prior": CHECK_PRIORS}
    #: Whether negative features are refused.
    _takes_counts: ClassVar[bool] = True
    #: The attributes that hold private outputs.
    _shown: ClassVar[tuple] = ("class_log_prior_", "class_count_", "feature_log_prob_",
                              "temperature_")

    if TYPE_CHECKING:
        # A parameter.
        fit_prior: bool

    def _check_table(self, X, y):
        X, y = self._check_rows(X, y)
        if self._takes_counts:
            check_not_negative(Rows(X, y), type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = "accept_sparse" in self._row_checks
        tags.input_tags.positive_only = self._takes_counts
        return tags

    def _keep_counts(self, rows, counts, noise):
        """Set class counts and priors; return the counts, raised to a row and noise, and alpha.

        Weights have any unit, so a row and a pseudo-count weigh as much as the mean of all rows.
        """
        self.class_count_ = np.maximum(counts, 0.0)
        row = 1.0
        if rows.is_weighted:
            # Without noise, rows of no weight count for nothing.
            n_units = rows.n_units if noise else rows.added(_heavy)
            row = min(1.0, max(counts.sum(), noise, COUNT_UNIT) / n_units)
        # Without noise, a class of no weight has no chance, as in scikit-learn.
        kept = np.maximum(counts, max(row, noise) if noise or not counts.any() else 0.0)
        noise = noise / float(kept.sum())
        shares = shrunk_shares(kept / kept.sum(), 1.0 / len(kept), noise)
        shares /= shares.sum()
        if not self.fit_prior and self.class_prior is None:
            shares, noise = np.full(len(counts), 1.0 / len(counts)), 0.0
        with np.errstate(divide="ignore"):
            self.class_log_prior_ = np.log(self._priors(shares, noise))
        return np.maximum(kept, row), row * float(self.alpha)

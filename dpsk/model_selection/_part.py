"""Rows of one part of a table; groups, if any, are never divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import _safe_indexing

from dpsk._data.groups import Groups, groups_of
from dpsk._data.weights import LEAST_WEIGHT, check_weights
from dpsk.model_selection._split import split_rows

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from dpsk._typing import AnyArray, FloatArray

__all__ = ["Part"]


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, their targets and their groups.

    Attributes
    ----------
    X : array-like or table of n rows
    y : ndarray of shape (n,)
    members : Groups or None
    weights : ndarray of shape (n,) or None
        Weights of the rows in training.
    """

    X: Any
    y: AnyArray
    members: Groups | None
    weights: FloatArray | None = None

    @classmethod
    def of(cls, X: Any, y: AnyArray, groups: ArrayLike | None, sample_weight: ArrayLike | None,
           n_samples: int, random_state: Any) -> Part:
        """Return the part that holds all `n_samples` rows of a table."""
        weights = check_weights(sample_weight, y, np.float64, narrow=np.float32)
        if weights is not None:
            # A drawn part whose weights are all 0 would end a fit after the charge.
            weights = np.maximum(weights, LEAST_WEIGHT)
        return cls(X, y, groups_of(groups, n_samples, random_state), weights)

    def n_units(self, n_samples: int) -> int:
        """Return the number of units of privacy: groups, or rows without groups."""
        return n_samples if self.members is None else self.members.count

    @property
    def told(self) -> dict[str, Any]:
        """dict : keyword arguments of `fit` in addition to rows and targets."""
        groups = {} if self.members is None else {"groups": self.members.codes}
        return groups if self.weights is None else {**groups, "sample_weight": self.weights}

    def split(self, n_units: int, n_holdout: int, random_state: Any) -> list[Part]:
        """Return training and held-out parts, split by the index of rows or groups."""
        return [self.units(each) for each in split_rows(n_units, n_holdout, random_state)]

    def units(self, units: Any) -> Part:
        """Return the rows of the given groups, or, without groups, of given indices."""
        if self.members is None:
            return self._rows(units, None)
        return self._rows(*self.members.subset(units))

    def one_each(self, random_state: Any) -> Part:
        """Return one row per group, by public randomness; all rows without groups."""
        if self.members is None:
            return self
        return self._rows(self.members.one_each(random_state), None)

    def total(self, values: FloatArray) -> float:
        """Return the sum of the values of rows in [-1/2, 1/2], or of group averages."""
        if self.members is None:
            return values.sum()
        # The sum of a group adds only its own rows, in their order.
        sums = np.bincount(self.members.codes, values, self.members.count)
        return np.clip(sums / np.bincount(self.members.codes), -0.5, 0.5).sum()

    def _rows(self, rows: Any, members: Groups | None) -> Part:
        weights = None if self.weights is None else self.weights[rows]
        return Part(_safe_indexing(self.X, rows), self.y[rows], members, weights)

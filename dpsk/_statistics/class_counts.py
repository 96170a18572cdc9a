r"""Noisy counts and sums by class, of nonnegative rows and of binary features.

**Nonnegative rows.** A row x of norm at most R adds ``(sqrt(u), sqrt(v) x / R)`` to its class,
where ``u + v = 1``. This vector is no longer than 1. No entry is negative, so the inner product of
two such vectors is nonnegative, and replacing a row moves the sum by at most sqrt(2). With
``u = 1/9``, the noise is ``sqrt(18) / mu`` on counts and ``1.5 R / mu`` on sums.

**Flags.** A row of p flags adds ``(1, f_1, ..., f_p)``, where every flag is 1 or -1. If flags are
divided by ``sqrt(p)``, two rows of one class have the inner product ``1 + f.g / p >= 0``. So
replacing a row moves the count by at most ``2`` and the flags by at most ``2 sqrt(p)``, each in
its own unit. The number of rows with a flag is ``(sum + count) / 2``. Its noise is
``sqrt(p + 1) / mu``; with flags 1 and 0, it would be ``sqrt(2 p) / mu``.

**Weights and groups.** Weights of at most 1, and averages over the rows of a group, make no vector
longer and no inner product negative, as in `class_moments`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import CSR_WIDTH, block_length, csr_of
from dpsk._data.norms import row_norms
from dpsk._data.parted import on_threads
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._models.clipping import HEADROOM, clip_factors
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits
from dpsk._statistics.class_moments import COUNT_UNIT, members, whole_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import Features, FloatArray

__all__ = ["ClassCounts", "are_set", "noisy_flag_counts", "noisy_row_sums"]

#: Parts of the squared length of a row: the count, and the entries.
_SHARES = 1.0 / 9.0, 8.0 / 9.0


@dataclass(frozen=True)
class ClassCounts:
    """Noisy counts and sums of the classes.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
    sums : ndarray of shape (n_classes, n_features)
    count_noise, sum_noise : float
        Public standard deviations.
    """

    counts: np.ndarray
    sums: np.ndarray
    count_noise: float
    sum_noise: float


def noisy_row_sums(rows: RowSource, n_classes: int, radius: float, mu: float,
                   session: Session) -> ClassCounts:
    """Return the `ClassCounts` of dense or sparse rows; negative entries count as 0.

    Parameters
    ----------
    rows : RowSource
        Rows whose targets are the indices of their classes.
    n_classes : int
    radius : float
        Longer rows are scaled down to this norm.
    mu : float
        Privacy cost of the query; infinite without noise.
    session : Session
    """
    moved = [math.sqrt(2.0 / share) * bound
             for share, bound in zip(_SHARES, (1.0, radius), strict=True)]
    unit = 2.0 ** -exact_bits(rows.n_units * radius, moved[1] / mu)

    def totals(batch: Batch) -> tuple[FloatArray, FloatArray]:
        counts, sums = on_threads(rows).added(_row_sums, n_classes, radius, unit)
        return COUNT_UNIT * counts, unit * sums

    counts, sums = session(gaussian(mu), totals, Sensitivity(moved[0], unit=COUNT_UNIT),
                           Sensitivity(moved[1], unit=unit))
    return ClassCounts(counts, sums, moved[0] / mu, moved[1] / mu)


def noisy_flag_counts(rows: RowSource, n_classes: int, threshold: float | None, mu: float,
                      session: Session) -> ClassCounts:
    """Return the `ClassCounts` of rows whose entries are converted to flags.

    Parameters are those of `noisy_row_sums`. A flag is set where the entry is above `threshold`
    or, if that is None, where the entry is not 0.
    """
    moved = 2.0, 2.0 * math.sqrt(rows.n_features)

    def totals(batch: Batch) -> tuple[FloatArray, FloatArray]:
        counts, set_ = on_threads(rows).added(_flag_counts, n_classes, threshold)
        return COUNT_UNIT * counts, COUNT_UNIT * (2.0 * set_ - counts[:, None])

    counts, sums = session(gaussian(mu), totals, *(
        Sensitivity(each, unit=COUNT_UNIT) for each in moved))
    return ClassCounts(counts, 0.5 * (sums + counts[:, None]), moved[0] / mu,
                       0.5 * math.hypot(*moved) / mu)


# Every sum on these grids is exact, so rounding reveals nothing about the rows.
def _row_sums(rows: RowSource, n_classes: int, radius: float,
              unit: float) -> tuple[FloatArray, FloatArray]:
    """Return counts and sums of classes, in integer units."""
    counts, sums = np.zeros(n_classes), np.zeros((n_classes, rows.n_features))
    for X, codes, weights in _blocks(rows):
        shares = whole_weights(codes, weights)
        X = _of_entries(X, _not_negative)
        factors = shares * clip_factors(row_norms(X), radius * HEADROOM) / unit
        sums += _added(members(codes, n_classes), _scaled(X, factors))
        counts += members(codes, n_classes) @ (shares / COUNT_UNIT)
    return counts, sums


def _flag_counts(rows: RowSource, n_classes: int,
                 threshold: float | None) -> tuple[FloatArray, FloatArray]:
    """Return counts of classes, and of their rows with each flag, in integer units."""
    counts, sums = np.zeros(n_classes), np.zeros((n_classes, rows.n_features))
    for X, codes, weights in _blocks(rows):
        shares = whole_weights(codes, weights) / COUNT_UNIT
        sums += _added(members(codes, n_classes), _scaled(are_set(X, threshold), shares))
        counts += members(codes, n_classes) @ shares
    return counts, sums


def are_set(X: Features, threshold: float | None) -> Features:
    """Return 1 where an entry is above `threshold` (None: is not 0), 0 elsewhere."""
    return _of_entries(X, lambda entries: (
        entries != 0 if threshold is None else entries > threshold).astype(np.float64))


def _not_negative(entries: FloatArray) -> FloatArray:
    return np.maximum(entries, 0.0, dtype=np.float64)


def _blocks(rows: RowSource) -> Iterator[Any]:
    width = CSR_WIDTH if rows.is_sparse else rows.n_features
    return map(rows.take, rows.blocks(block_length(width)))


def _of_entries(X: Features, function: Callable[..., FloatArray]) -> Features:
    """Apply a function to every entry of a block; entries not stored in CSR stay 0."""
    if sparse.issparse(X):
        return csr_of(function(X.data), X.indices, X.indptr, X.shape[1])
    return function(X)


def _scaled(X: Features, factors: FloatArray) -> Features:
    """Return rows of a block times their factors, truncated toward zero."""
    if sparse.issparse(X):
        entries = X.data * np.repeat(factors, np.diff(X.indptr))
        return csr_of(np.trunc(entries), X.indices, X.indptr, X.shape[1])
    scaled = X * factors[:, None]
    return np.trunc(scaled, out=scaled)


def _added(members: Any, X: Features) -> FloatArray:
    """Return the sums of the rows of every class."""
    found = members @ X
    return found.toarray() if sparse.issparse(found) else found

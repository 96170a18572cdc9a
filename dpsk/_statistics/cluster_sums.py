r"""Noisy counts, sums and squares of rows by the nearest of some public points.

A row z enters as its difference ``x = z - p`` from the nearest point p, scaled down until
``|x| <= R``: in the cluster of p it adds ``(sqrt(1/2), x / R, sqrt(1/2) |x|^2 / R^2)``, of
length ``sqrt(1/2) (1 + |x|^2 / R^2) <= sqrt(2)``. Two rows of one cluster have an inner product
of at least ``(1 - |x| |y| / R^2)^2 / 2 >= 0``, of two clusters 0. Replacing a row therefore moves
the sum by at most 2, as sums of x alone would: counts and squares come free. The noise is
``2 R / mu`` on sums, ``sqrt(8) / mu`` on counts and ``sqrt(8) R^2 / mu`` on squares. A weight of
at most 1 makes no vector longer and no inner product negative.

Squares are cut to whole units u, each by less than u: together with the cut the sum moves by at
most ``2 + u / R^2``. The distances to points are exact, on a grid, so that a row has the same
nearest point whatever rows it is read with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsk._data.blocks import block_length
from dpsk._data.parted import on_threads
from dpsk._data.source import Block, ViewedRows
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._models.clipping import shortened
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits
from dpsk._statistics.class_moments import COUNT_UNIT, members, whole_weights

if TYPE_CHECKING:
    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import FloatArray

__all__ = ["ClusterSums", "NearestRows", "noisy_cluster_sums"]

#: Bits of coordinates over their bound: products of two, summed, are exact.
_BITS = 22


@dataclass(frozen=True)
class ClusterSums:
    """Released sums of the clusters.

    Parameters
    ----------
    counts : ndarray of shape (n_clusters,)
    sums : ndarray of shape (n_clusters, n_features)
        Of differences of rows from their nearest point.
    squares : ndarray of shape (n_clusters,)
        Of the lengths of these.
    count_noise, sum_noise : float
        Public standard deviations.
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    count_noise: float
    sum_noise: float


@dataclass(frozen=True, eq=False, repr=False)
class NearestRows(ViewedRows):
    """Rows in memory, mapped as they are read, less the nearest of some points: their target.

    Parameters
    ----------
    scale : ndarray of shape (n_features,)
        What mapped columns are multiplied by.
    bound : float
        Longer rows are scaled down to it.
    basis : ndarray of shape (n_features, k), from `on_grid`, or None
        Of the subspace that rows are brought to.
    points : ndarray of shape (n_points, n_features) or (n_points, k)
    """

    scale: Any = None
    bound: Any = None
    basis: Any = None
    points: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_features", self.points.shape[1])
        object.__setattr__(self, "dtype", np.dtype(np.float64))

    def take(self, part: Any) -> Block:
        X, _, weights = super().take(part)
        unit = 2.0 ** (math.ceil(math.log2(self.bound)) - _BITS)
        rows = shortened(X * self.scale, self.bound)
        rows /= unit
        np.trunc(rows, out=rows)
        if self.basis is not None:
            rows = np.rint(rows @ self.basis)
        points = np.rint(self.points / unit)
        scores = -2.0 * rows @ points.T + np.einsum("ij,ij->i", points, points)
        codes = scores.argmin(axis=1)
        rows -= points[codes]
        rows *= unit
        return Block(rows, codes, weights)


def noisy_cluster_sums(rows: NearestRows, radius: float, mu: float,
                       session: Session) -> ClusterSums:
    """Return the `ClusterSums` of rows about their points.

    Parameters
    ----------
    rows : NearestRows
    radius : float
        Longer differences are scaled down to it.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    """
    count, bounds = len(rows.points), (1.0, radius, radius**2)
    scales = math.sqrt(8.0), 2.0 * radius, math.sqrt(8.0) * radius**2
    units = [2.0 ** -exact_bits(rows.n_units * bound, scale / mu)
             for bound, scale in zip(bounds[1:], scales[1:], strict=True)]
    moved = [scale * (1.0 + units[1] / radius**2) for scale in scales]

    def totals(batch: Batch) -> tuple[FloatArray, ...]:
        counts, sums, squares = on_threads(rows).added(_cluster_sums, count, radius, units)
        return COUNT_UNIT * counts, units[0] * sums, units[1] * squares

    counts, sums, squares = session(gaussian(mu), totals, *(
        Sensitivity(each, unit=unit)
        for each, unit in zip(moved, (COUNT_UNIT, *units), strict=True)))
    return ClusterSums(counts, sums, squares, moved[0] / mu, moved[1] / mu)


# On these grids every sum is exact, so no rounding shows the rows.
def _cluster_sums(rows: RowSource, count: int, radius: float,
                  units: list[float]) -> tuple[FloatArray, ...]:
    """Return counts, sums and squares of clusters, in whole units."""
    counts, squares = np.zeros((2, count))
    sums = np.zeros((count, rows.n_features))
    for part in rows.blocks(block_length(rows.n_features)):
        X, codes, weights = rows.take(part)
        X, shares, of_cluster = (shortened(X, radius), whole_weights(codes, weights),
                                 members(codes, count))
        counts += of_cluster @ (shares / COUNT_UNIT)
        sums += of_cluster @ np.trunc(X * (shares / units[0])[:, None])
        squares += of_cluster @ np.trunc(np.einsum("ij,ij->i", X, X) * (shares / units[1]))
    return counts, sums, squares

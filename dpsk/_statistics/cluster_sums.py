r"""Noisy counts, sums and squares of rows by the nearest of some public points.

A row z enters as its difference from the nearest point p over the radius R of the cluster of p,
``x = (z - p) / R``, scaled down until ``|x| <= 1``. To that cluster it adds
``(sqrt(1/2), x, sqrt(1/2) |x|^2)``, of length ``sqrt(1/2) (1 + |x|^2) <= sqrt(2)``. Two rows of
one cluster have an inner product of at least ``(1 - |x| |y|)^2 / 2 >= 0``, of two clusters 0.
Replacing a row therefore moves the sum by at most 2, as sums of x alone would: counts and squares
come free, and radii, which are public, may differ. The noise is ``2 R / mu`` on sums of ``z - p``,
``sqrt(8) / mu`` on counts and ``sqrt(8) R^2 / mu`` on squares. A weight of at most 1 makes no
vector longer and no inner product negative.

Squares are cut to whole units u, each by less than u: together with the cut the sum moves by at
most ``2 + u``. The distances to points are exact, on a grid, so that a row has the same
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
    count_noise : float
        Public standard deviation.
    sum_noise : ndarray of shape (n_clusters,)
        The same of entries of sums.
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    count_noise: float
    sum_noise: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class NearestRows(ViewedRows):
    """Rows in memory, mapped as they are read, less the nearest of some points, over its radius.

    Their target is the index of that point.

    Parameters
    ----------
    scale : ndarray of shape (n_features,)
        What mapped columns are multiplied by.
    bound : float
        Longer rows are scaled down to it.
    basis : ndarray of shape (n_features, k), from `on_grid`, or None
        Of the subspace that rows are brought to.
    points : ndarray of shape (n_points, n_features) or (n_points, k)
    radii : ndarray of shape (n_points,)
    """

    scale: Any = None
    bound: Any = None
    basis: Any = None
    points: Any = None
    radii: Any = None

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
        rows *= (unit / self.radii)[codes, None]
        return Block(rows, codes, weights)


def noisy_cluster_sums(rows: NearestRows, mu: float, session: Session) -> ClusterSums:
    """Return the `ClusterSums` of rows about their points.

    Parameters
    ----------
    rows : NearestRows
        Differences longer than the radius are scaled down to it.
    mu : float
        What the answer may cost; infinite without noise.
    session : Session
    """
    count, scales = len(rows.points), (math.sqrt(8.0), 2.0, math.sqrt(8.0))
    units = [2.0 ** -exact_bits(rows.n_units, scale / mu) for scale in scales[1:]]
    moved = [scale * (1.0 + units[1]) for scale in scales]

    def totals(batch: Batch) -> tuple[FloatArray, ...]:
        counts, sums, squares = on_threads(rows).added(_cluster_sums, count, units)
        return COUNT_UNIT * counts, units[0] * sums, units[1] * squares

    counts, sums, squares = session(gaussian(mu), totals, *(
        Sensitivity(each, unit=unit)
        for each, unit in zip(moved, (COUNT_UNIT, *units), strict=True)))
    return ClusterSums(counts, sums * rows.radii[:, None], squares * rows.radii**2,
                       moved[0] / mu, moved[1] / mu * rows.radii)


# On these grids every sum is exact, so no rounding shows the rows.
def _cluster_sums(rows: RowSource, count: int, units: list[float]) -> tuple[FloatArray, ...]:
    """Return counts, sums and squares of clusters, in whole units."""
    counts, squares = np.zeros((2, count))
    sums = np.zeros((count, rows.n_features))
    for part in rows.blocks(block_length(rows.n_features)):
        X, codes, weights = rows.take(part)
        X, shares, of_cluster = (shortened(X, 1.0), whole_weights(codes, weights),
                                 members(codes, count))
        counts += of_cluster @ (shares / COUNT_UNIT)
        sums += of_cluster @ np.trunc(X * (shares / units[0])[:, None])
        squares += of_cluster @ np.trunc(np.einsum("ij,ij->i", X, X) * (shares / units[1]))
    return counts, sums, squares

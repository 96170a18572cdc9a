r"""Noisy counts, sums and squares of rows by the nearest of some public points.

A row z is replaced by its difference from the nearest point p, divided by the radius R of the
cluster of p: ``x = (z - p) / R``, scaled down until ``|x| <= 1``. It adds
``(sqrt(1/2), x, sqrt(1/2) |x|^2)`` to the cluster, of length ``sqrt(1/2) (1 + |x|^2) <= sqrt(2)``.
The inner product of two rows is at least ``(1 - |x| |y|)^2 / 2 >= 0`` within a cluster and 0
across clusters. Replacing a row therefore moves the sum by at most 2, as for sums of x alone:
counts and squares are free, and the radii, which are public, may differ. The noise is
``2 R / mu`` on sums of ``z - p``, ``sqrt(8) / mu`` on counts and ``sqrt(8) R^2 / mu`` on squares.
A weight of at most 1 makes no vector longer and no inner product negative.

Squares are truncated to multiples of u, each by less than u: with this truncation, the sum moves
by at most ``2 + u``. Distances to points are exact, on a grid, so the nearest point of a row does
not depend on other rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpsk._data.blocks import block_length
from dpsk._data.parted import on_threads
from dpsk._data.source import Block, RowSource, ViewedRows
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

#: Bits of coordinates over their bound: sums of their products are exact.
_BITS = 22


@dataclass(frozen=True)
class ClusterSums:
    """Noisy counts and sums of the clusters.

    Parameters
    ----------
    counts : ndarray of shape (n_clusters,)
    sums : ndarray of shape (n_clusters, n_features)
        Sums of differences of rows from their nearest point.
    squares : ndarray of shape (n_clusters,)
        Sums of the squared lengths of these differences.
    count_noise : float
        Public standard deviation of the noise on counts.
    sum_noise : ndarray of shape (n_clusters,)
        Public standard deviations of the noise on entries of sums.
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    count_noise: float
    sum_noise: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class NearestRows(ViewedRows):
    """Differences of mapped rows from their nearest point, divided by its radius.

    Rows are in memory and mapped when they are read. Targets are the indices of nearest points.

    Parameters
    ----------
    scale : ndarray of shape (n_features,)
        Factors of the mapped columns.
    bound : float
        Longer rows are scaled down to this norm.
    basis : ndarray of shape (n_features, k), from `on_grid`, or None
        Basis of the subspace to which rows are projected.
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

    # The targets and the rows are those of `take`.
    beside = RowSource.beside
    write = RowSource.write

    def _refused(self, _: Any) -> Any:
        raise NotImplementedError("Rows about their nearest points are read in sums alone.")

    subset: ClassVar[Any] = _refused
    mapped: ClassVar[Any] = _refused
    viewed: ClassVar[Any] = _refused
    clipped_by: ClassVar[Any] = _refused
    with_features: ClassVar[Any] = _refused

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
    """Return the `ClusterSums` of rows relative to their nearest points.

    Parameters
    ----------
    rows : NearestRows
        Differences longer than the radius are scaled down to it.
    mu : float
        Privacy cost of the query; infinite without noise.
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


# Every sum on these grids is exact, so rounding reveals nothing about the rows.
def _cluster_sums(rows: RowSource, count: int, units: list[float]) -> tuple[FloatArray, ...]:
    """Return counts, sums and squares of clusters, in integer units."""
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

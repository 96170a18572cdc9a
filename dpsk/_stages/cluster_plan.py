"""Plan of the releases of k-means: their privacy cost, order and rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.budgets import (
    CLUSTER_REACH,
    CLUSTER_REACH_POWER,
    CLUSTER_ROUNDS,
    CLUSTER_SUBSPACE_SHARE,
    CLUSTERS_AT_FIRST,
    FEW_CLUSTER_ROUNDS,
    MOST_CLUSTER_DIRECTIONS,
    MOST_CLUSTERS,
)
from dpsk._mechanism.core import Share, Statistic, mu_of
from dpsk._models.clipping import shortened
from dpsk._stages.center_rounds import rows_within
from dpsk._stages.class_plan import RangedComposite
from dpsk._stages.cluster_laws import ClusterLaws, kept_share, least_counts
from dpsk._stages.spectrum import Spectrum
from dpsk._statistics.class_moments import noisy_class_moments, on_grid
from dpsk._statistics.cluster_sums import NearestRows, noisy_cluster_sums
from dpsk._statistics.moments import noisy_second_moment, second_moment_noise

if TYPE_CHECKING:
    from typing import Any

    from dpsk._mechanism.core import Mechanism
    from dpsk._mechanism.session import Session
    from dpsk._models.ranges import RangedRows
    from dpsk._problem import Budget

__all__ = ["ClusterFit", "ClusterPlan", "most_clusters"]

#: Rows farther from the mean than this many bounds are scaled down to that distance.
_FAR = 4.0
#: Least radius of a cluster, over the first radius.
_NARROW = 1e-4
#: Size, times mu, from which moments of a cluster stand out of their noise.
_COUNT_NOISE = 5.0 * math.sqrt(2.0)
#: Rounds on all columns in a fit without noise.
_NOISELESS_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class ClusterFit:
    """Result of the releases of k-means.

    Parameters
    ----------
    row_map : RangedRows
        The map that scaled rows to their ranges and subtracted the released mean.
    centers : ndarray of shape (k, d)
        Cluster centers, in the coordinates of mapped rows.
    sizes : ndarray of shape (k,)
    inertia : float
    radius : float
        The norm bound enforced on centered rows.
    """

    row_map: RangedRows
    centers: np.ndarray
    sizes: np.ndarray
    inertia: float
    radius: float


@dataclass(frozen=True)
class ClusterPlan(RangedComposite):
    """Release a mean and principal directions, then moments and sums of clusters.

    Parameters
    ----------
    budget : Budget
    n_clusters : int or None
        None: the number of separate clusters by released moments, up to `most_clusters`.
    learns_ranges : bool
        Whether ranges of the columns are learnt, from two quantiles each.
    norm, spread : float or None
        Norm bounds on rows and on centered rows; None where they are learnt.
    """

    budget: Budget
    n_clusters: int | None
    learns_ranges: bool
    norm: float | None
    spread: float | None
    centers: bool = True

    @property
    def parts(self) -> tuple[Mechanism, ...]:
        """tuple of Mechanism : ranges; bounds and mean; the second moment; rounds."""
        mean = self._centered.mean_share
        moment = (1.0 - mean) * CLUSTER_SUBSPACE_SHARE if self._reduces else 0.0
        inside, whole = self._rounds
        each = (1.0 - mean - moment) / (inside + whole)
        return (*self._first_parts, Share(Statistic(noisy_second_moment), moment),
                *[Share(Statistic(noisy_class_moments), each)] * inside,
                *[Share(Statistic(noisy_cluster_sums), each)] * whole)

    def run(self, data: Any, session: Session, noise_multiplier: float) -> ClusterFit:
        """Return the `ClusterFit` of rows; data are as for `RangedComposite`."""
        row_map, mapped, radius = self._begun(data, session, noise_multiplier)
        scale = np.ones(row_map.width)
        if row_map.low is not None:
            # Distances are measured between the original rows.
            scale = 0.5 * (row_map.high - row_map.low)
        first = radius * float(scale.max())
        squares, *rounds = self.parts[2:]
        basis, rest = None, 0.0
        if self._reduces:
            model = rows_within(radius, row_map.width)
            moment = squares.run((model, mapped), session, noise_multiplier)
            noise = second_moment_noise(model, len(data[0]), mu_of(
                squares.own(noise_multiplier)))  # type: ignore[attr-defined]
            moment *= np.outer(scale, scale)
            spectrum = Spectrum.of(moment, noise * float(np.mean(scale**2)))
            basis = on_grid(spectrum.vectors[:, :self._width])
            rest = max(0.0, float(np.trace(moment) - spectrum.found[:self._width].sum()))

        def nearest(points, subspace, radii):
            source = data[0]
            return NearestRows(source.X, source.y, source.weights, source.weight_bound,
                               row_map=row_map, scale=scale, bound=_FAR * first, basis=subspace,
                               points=points, radii=radii)

        # Without noise nothing is clipped.
        least = first * (_NARROW if self.budget.is_private else 2.0 * _FAR)
        # Cluster size at which its moments are twice as large as their noise.
        mu = mu_of(rounds[0].own(noise_multiplier))  # type: ignore[attr-defined]
        few = 2.0 * _COUNT_NOISE / mu

        def reaches(laws, rest, width, splits):
            clear = self.budget.n_samples / max(1e-300, few * len(laws) * math.sqrt(width))
            reach = CLUSTER_REACH * (1.0 if splits else max(1.0, clear)**CLUSTER_REACH_POWER)
            return np.maximum(least, np.minimum(
                2.0 * first, reach * np.sqrt(laws.spreads(few) + rest)))

        inside, _ = self._rounds
        points, radii = np.zeros((1, self._width)), np.full(1, max(first, least))
        for place, part in enumerate(rounds[:inside]):
            released = part.run(
                (nearest(points, basis, radii), len(points), np.eye(self._width), 1.0), session,
                noise_multiplier).rescaled(radii)
            laws = ClusterLaws.released(released, points, radii)
            splits = place < self._usual_rounds[0] - 1
            laws = laws.rearranged(self._count * (CLUSTERS_AT_FIRST if splits else 1))
            if self.n_clusters is None and place == inside - 1:
                laws = laws.told_apart(released)
            points, radii = laws.means, reaches(laws, 0.0, self._width, splits)
        if basis is not None:
            points, radii = points @ basis.T, reaches(laws, rest, len(basis), False)
        for part in rounds[inside:]:
            found = part.run((nearest(points, None, radii),), session, noise_multiplier)
            shifts = shortened(_shifts(found, basis), radii)
            inertia = float(np.sum(found.squares - 2.0 * np.einsum("ij,ij->i", shifts, found.sums)
                                   + found.counts * np.einsum("ij,ij->i", shifts, shifts)))
            points = shortened(points + shifts, _FAR * first)
        sizes = np.maximum(found.counts, 0.0)
        if self.n_clusters is None:
            # Clusters whose final counts are within noise are dropped.
            kept = (sizes >= least_counts(found)) | (sizes == sizes.max())
            points, sizes = points[kept], sizes[kept]
        return ClusterFit(row_map, points / scale, sizes, max(0.0, inertia), radius)

    @property
    def n_rounds(self) -> int:
        """int : the number of rounds."""
        return sum(self._rounds)

    @property
    def _count(self):
        """int : the number of clusters, or its upper limit where it is not given."""
        return most_clusters(self.budget) if self.n_clusters is None else self.n_clusters

    @property
    def _width(self):
        """int : the number of principal directions."""
        return min(self.budget.n_columns, self._count + 2, MOST_CLUSTER_DIRECTIONS)

    @property
    def _reduces(self):
        return self._width < self.budget.n_columns

    @property
    def _rounds(self):
        """(int, int) : the number of rounds in the principal directions, and on all columns."""
        splitting, inside, whole = self._usual_rounds
        return splitting + inside, whole if self.budget.is_private else _NOISELESS_ROUNDS

    @property
    def _usual_rounds(self):
        """(int, int, int) : rounds; more where noise is small for so many clusters."""
        return CLUSTER_ROUNDS if _usual_clusters(self.budget) > self._count else FEW_CLUSTER_ROUNDS


def most_clusters(budget: Budget) -> int:
    """Return how many clusters to look for if the number is not given, from public facts."""
    usual = min(_usual_clusters(budget), MOST_CLUSTERS)
    return min(budget.n_samples, max(2, math.floor(usual)))


def _usual_clusters(budget):
    """Return the number of clusters whose counts usually exceed their noise."""
    noise = _COUNT_NOISE * math.sqrt(sum(CLUSTER_ROUNDS))
    return budget.signal_to_noise * budget.n_columns / (CLUSTERS_AT_FIRST * noise)


def _shifts(found, basis):
    """Return the moves of the points, shape (k, d), shrunk to 0 as far as noise hides them.

    Moves within the principal directions are shrunk separately from the rest, where rows vary
    less.
    """
    counts = least_counts(found)
    shifts, noise = found.sums / counts[:, None], (found.sum_noise / counts)**2
    if basis is None:
        return kept_share(shifts, noise) * shifts
    inside = shifts @ basis
    beside = shifts - inside @ basis.T
    share = 1.0 - basis.shape[1] / len(basis)
    return (kept_share(inside, noise) * inside) @ basis.T + kept_share(
        beside, share * noise) * beside

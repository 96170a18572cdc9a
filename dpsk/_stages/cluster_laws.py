"""Splitting and merging of clusters by their released moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsk._models.clipping import shortened

if TYPE_CHECKING:
    from dpsk._statistics.class_moments import ClassMoments
    from dpsk._typing import FloatArray

__all__ = ["ClusterLaws", "kept_share", "least_counts"]

#: Counts are raised to at least this many standard deviations of their noise.
_DEVIATIONS = 2.0
#: Least distance of two separate clusters, over the sum of their standard deviations.
_APART = 2.0
#: Variances are equal up to this fraction, and digits to which shares of axes are compared.
_EQUAL, _SHARE_DIGITS = 1e-6, 6


@dataclass(frozen=True, eq=False)
class ClusterLaws:
    """Weights, means and covariances of clusters.

    A normal distribution is split at its mean, across its direction of largest variance v. The
    means of the halves are ``sqrt(2 v / pi)`` away from its mean. Per row, the inertia falls by
    the square of that distance.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    means : ndarray of shape (n, p)
    covariances : ndarray of shape (n, p, p)
    steps : ndarray of shape (n, p)
        Vectors from the mean of a cluster to the mean of one half.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, weights: Any, means: FloatArray, covariances: FloatArray) -> ClusterLaws:
        """Return the clusters with their steps."""
        values, vectors = np.linalg.eigh(covariances)
        # Rounding would choose among directions of equal variance. So the step is along the
        # projection on all of them of the axis that lies in them most.
        largest = values >= (1.0 - _EQUAL) * values[:, -1:]
        projectors = (vectors * largest[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        shares = np.round(np.diagonal(projectors, axis1=1, axis2=2), _SHARE_DIGITS)
        along = projectors[np.arange(len(values)), :, shares.argmax(axis=1)]
        sizes = np.sqrt(2.0 / math.pi * np.maximum(values[:, -1], 0.0))
        sizes /= np.linalg.norm(along, axis=1)
        return cls(np.asarray(weights), means, covariances, sizes[:, None] * along)

    @classmethod
    def released(cls, found: ClassMoments, points: FloatArray,
                 radii: FloatArray) -> ClusterLaws:
        """Return denoised clusters from moments of rows about some points.

        Directions that do not stand out of noise share one variance. No row was farther from
        its point than the radius of the cluster.
        """
        weights, counts = np.maximum(found.counts, 0.0), least_counts(found)
        width = points.shape[1]
        shifts = found.sums / counts[:, None]
        covariances = found.moments / counts[:, None, None] - np.einsum(
            "ci,cj->cij", shifts, shifts)
        values, vectors = np.linalg.eigh(covariances)
        edges = (found.moment_noise / counts * math.sqrt(2.0 * width))[:, None]
        clear = values > edges
        # The other variances are averaged, which keeps their sum.
        even = np.where(clear, 0.0, values).sum(axis=1) / np.maximum(1, (~clear).sum(axis=1))
        values = np.where(clear, np.sqrt(np.maximum(values**2 - edges**2, 0.0)),
                          np.maximum(even, 0.0)[:, None])
        values *= np.minimum(1.0, radii**2 / np.maximum(values.sum(axis=1), 1e-300))[:, None]
        kept = kept_share(shifts, (found.sum_noise / counts)**2)
        return cls.of(weights, points + shortened(kept * shifts, radii),
                      (vectors * values[:, None, :]) @ np.swapaxes(vectors, 1, 2))

    def __len__(self) -> int:
        return len(self.weights)

    def spreads(self, few: float) -> FloatArray:
        """Return mean squared distances of rows from the mean of their cluster, shape (n,).

        They are shrunk to the mean square of all rows: by half for a cluster of `few` rows.
        """
        total = float(self.weights.sum())
        traces = np.trace(self.covariances, axis1=1, axis2=2)
        mean = self.weights @ traces / total if total > 0.0 else traces.mean()
        own = self.weights / np.maximum(self.weights + few, 1e-300)
        return own * traces + (1.0 - own) * mean

    @cached_property
    def gains(self) -> FloatArray:
        """ndarray of shape (n,) : decrease of the inertia if a cluster is split."""
        return self.weights * np.einsum("ij,ij->i", self.steps, self.steps)

    def rearranged(self, count: int) -> ClusterLaws:
        """Return `count` clusters: split where the inertia falls most, merge the nearest."""
        laws = self
        while len(laws) < count:
            laws = laws._split(int(laws.gains.argmax()))
        while len(laws) > count:
            laws = laws._merged(*laws._nearest(len(laws))[1:])
        for _ in range(count if count > 2 else 0):
            place = int(laws.gains.argmax())
            split = laws._split(place)
            cost, *pair = split._nearest(count - 1)
            if laws.gains[place] <= cost:
                break
            laws = split._merged(*pair)
        return laws

    def told_apart(self, found: ClassMoments) -> ClusterLaws:
        """Return separate clusters: others are merged, the closest first.

        Two clusters are separate if the distance of their means exceeds `_APART` times the sum of
        their standard deviations along the line between them, noise on means included. The halves
        of a normal distribution cut at its mean are at 1.3, those of a uniform one at 1.7.
        Clusters whose counts are within noise are merged with the nearest cluster.
        """
        laws = self
        while len(laws) > 1:
            shifts = laws.means[:, None] - laws.means
            lengths = np.sqrt(np.einsum("ijk,ijk->ij", shifts, shifts))
            units = shifts / np.maximum(lengths, 1e-300)[:, :, None]
            variances = np.einsum("ijk,ikl,ijl->ij", units, laws.covariances, units)
            slack = (_DEVIATIONS / np.maximum(laws.weights, 1.0))[:, None]
            deviations = slack * found.sum_noise.mean() + np.sqrt(
                np.maximum(variances, 0.0) + slack * found.moment_noise.mean())
            apart = lengths / np.maximum(deviations + deviations.T, 1e-300)
            small = laws.weights <= found.count_noise
            if small.any():
                # Only pairs with a small cluster can be merged now, and always are.
                near = _APART * lengths / (1.0 + lengths.max())
                apart = np.where(small[:, None] | small, near, np.inf)
            np.fill_diagonal(apart, np.inf)
            one, other = divmod(int(apart.argmin()), len(laws))
            if apart[one, other] > _APART:
                break
            laws = laws._merged(one, other)
        return laws

    def _split(self, place):
        """Return the clusters with one of them split into two halves, placed last."""
        step, half = self.steps[place], 0.5 * self.weights[place]
        covariance = self.covariances[place] - np.outer(step, step)
        halves = ClusterLaws.of([half, half], self.means[place] + np.array([step, -step]),
                                np.array([covariance, covariance]))
        return self._but((place,), halves)

    def _merged(self, one, other):
        """Return the clusters with two of them merged."""
        both = [one, other]
        total = self.weights[both].sum()
        shares = self.weights[both] / total if total > 0.0 else np.array([0.5, 0.5])
        apart = self.means[one] - self.means[other]
        covariance = (np.tensordot(shares, self.covariances[both], 1)
                      + shares.prod() * np.outer(apart, apart))
        return self._but(both, ClusterLaws.of(
            [total], (shares @ self.means[both])[None], covariance[None]))

    def _but(self, places, others):
        """Return the clusters without those at `places`, and with `others` appended."""
        return ClusterLaws(*(
            np.concatenate([np.delete(own, places, axis=0), more]) for own, more in zip(
                (self.weights, self.means, self.covariances, self.steps),
                (others.weights, others.means, others.covariances, others.steps), strict=True)))

    def _nearest(self, count):
        """Return the least increase of inertia by a merge among the first, and the pair."""
        means, weights = self.means[:count], self.weights[:count]
        squares = np.einsum("ij,ij->i", means, means)
        distances = np.maximum(squares[:, None] + squares - 2.0 * means @ means.T, 0.0)
        totals = np.maximum(weights[:, None] + weights, 1e-300)
        costs = np.outer(weights, weights) / totals * distances
        np.fill_diagonal(costs, np.inf)
        one, other = divmod(int(costs.argmin()), count)
        return costs[one, other], one, other


def least_counts(found: Any) -> FloatArray:
    """Return released counts raised to at least 1, and to `_DEVIATIONS` of their noise."""
    return np.maximum(found.counts, max(1.0, _DEVIATIONS * found.count_noise))


def kept_share(shifts: FloatArray, noise: FloatArray) -> FloatArray:
    """Return James-Stein factors of noisy vectors, shape (n, 1).

    `noise` holds the variance of the noise on an entry of each vector.
    """
    squares = np.einsum("ij,ij->i", shifts, shifts)
    return np.maximum(0.0, 1.0 - shifts.shape[1] * noise / np.maximum(squares, 1e-300))[:, None]

"""Released moments of clusters, and how to split and merge clusters by them."""

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

#: Counts are no less than this many standard deviations of their noise.
_DEVIATIONS = 2.0
#: The distance from which on two clusters stand apart, over the sum of their deviations.
_APART = 2.0


@dataclass(frozen=True, eq=False)
class ClusterLaws:
    """Weights, means and covariances of clusters.

    Splitting a normal law at its mean, across its direction of most variance v, leaves two halves
    with means ``sqrt(2 v / pi)`` away: their squares are what the inertia falls by.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    means : ndarray of shape (n, p)
    covariances : ndarray of shape (n, p, p)
    steps : ndarray of shape (n, p)
        From a mean to that of a half.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, weights: Any, means: FloatArray, covariances: FloatArray) -> ClusterLaws:
        """Return laws with their steps."""
        values, vectors = np.linalg.eigh(covariances)
        sizes = np.sqrt(2.0 / math.pi * np.maximum(values[:, -1], 0.0))
        return cls(np.asarray(weights), means, covariances, sizes[:, None] * vectors[:, :, -1])

    @classmethod
    def released(cls, found: ClassMoments, points: FloatArray,
                 radii: FloatArray) -> ClusterLaws:
        """Return the laws of rows about some points as far as noise lets them be told.

        Directions that do not stand out have one variance. No row was farther than the
        radius of its cluster.
        """
        weights, counts = np.maximum(found.counts, 0.0), least_counts(found)
        width = points.shape[1]
        shifts = found.sums / counts[:, None]
        covariances = found.moments / counts[:, None, None] - np.einsum(
            "ci,cj->cij", shifts, shifts)
        values, vectors = np.linalg.eigh(covariances)
        edges = (found.moment_noise / counts * math.sqrt(2.0 * width))[:, None]
        clear = values > edges
        # What is not told apart is even, so that variances have their sum.
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
        """Return mean squares of distances of rows from their cluster's mean, shape (n,).

        Those of clusters of `few` rows are half way to the mean square of all rows.
        """
        total = float(self.weights.sum())
        traces = np.trace(self.covariances, axis1=1, axis2=2)
        mean = self.weights @ traces / total if total > 0.0 else traces.mean()
        own = self.weights / np.maximum(self.weights + few, 1e-300)
        return own * traces + (1.0 - own) * mean

    @cached_property
    def gains(self) -> FloatArray:
        """ndarray of shape (n,) : what inertia falls by where a cluster is split."""
        return self.weights * np.einsum("ij,ij->i", self.steps, self.steps)

    def rearranged(self, count: int) -> ClusterLaws:
        """Return so many clusters: the widest are split, the nearest to each other merged."""
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
        """Return clusters that stand apart: others are merged, the closest first.

        Two stand apart where their means are farther from each other than `_APART` times the sum
        of their deviations on the line between, and of what noise may have moved. A normal law
        that is cut at its mean has halves at 1.3, an even one at 1.7. Counts within their noise
        are no clusters, and are merged with what is next to them.
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
                # All of these are nearer than others.
                near = _APART * lengths / (1.0 + lengths.max())
                apart = np.where(small[:, None] | small, near, np.inf)
            np.fill_diagonal(apart, np.inf)
            one, other = divmod(int(apart.argmin()), len(laws))
            if apart[one, other] > _APART:
                break
            laws = laws._merged(one, other)
        return laws

    def _split(self, place):
        """Return laws with one of them in two halves, which are the last."""
        step, half = self.steps[place], 0.5 * self.weights[place]
        covariance = self.covariances[place] - np.outer(step, step)
        halves = ClusterLaws.of([half, half], self.means[place] + np.array([step, -step]),
                                np.array([covariance, covariance]))
        return self._but((place,), halves)

    def _merged(self, one, other):
        """Return laws with two of them as one."""
        both = [one, other]
        total = self.weights[both].sum()
        shares = self.weights[both] / total if total > 0.0 else np.array([0.5, 0.5])
        apart = self.means[one] - self.means[other]
        covariance = (np.tensordot(shares, self.covariances[both], 1)
                      + shares.prod() * np.outer(apart, apart))
        return self._but(both, ClusterLaws.of(
            [total], (shares @ self.means[both])[None], covariance[None]))

    def _but(self, places, others):
        """Return laws without some, and with others after them."""
        return ClusterLaws(*(
            np.concatenate([np.delete(own, places, axis=0), more]) for own, more in zip(
                (self.weights, self.means, self.covariances, self.steps),
                (others.weights, others.means, others.covariances, others.steps), strict=True)))

    def _nearest(self, count):
        """Return what inertia grows by where two of the first laws are merged, and the two."""
        means, weights = self.means[:count], self.weights[:count]
        squares = np.einsum("ij,ij->i", means, means)
        distances = np.maximum(squares[:, None] + squares - 2.0 * means @ means.T, 0.0)
        totals = np.maximum(weights[:, None] + weights, 1e-300)
        costs = np.outer(weights, weights) / totals * distances
        np.fill_diagonal(costs, np.inf)
        one, other = divmod(int(costs.argmin()), count)
        return costs[one, other], one, other


def least_counts(found: Any) -> FloatArray:
    """Return released counts that noise leaves some rows."""
    return np.maximum(found.counts, max(1.0, _DEVIATIONS * found.count_noise))


def kept_share(shifts: FloatArray, noise: FloatArray) -> FloatArray:
    """Return what is kept of noisy vectors, shape (n, 1); `noise` is that on squares of entries.
    """
    squares = np.einsum("ij,ij->i", shifts, shifts)
    return np.maximum(0.0, 1.0 - shifts.shape[1] * noise / np.maximum(squares, 1e-300))[:, None]

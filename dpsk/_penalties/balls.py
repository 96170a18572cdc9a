"""Constraints to a ball: the proximal map is the projection."""

from dataclasses import dataclass

import numpy as np

from dpsk._penalties.base import Penalty


@dataclass(frozen=True)
class _Ball(Penalty):
    """A ball around zero; the last `free_rows` rows of theta are not constrained.

    Parameters
    ----------
    radius : float
    free_rows : int
    """

    radius: float
    free_rows: int = 0
    strong_convexity = 0.0
    smoothness = 0.0
    is_smooth = False

    def value(self, theta):
        inside = self._norm(self._constrained(theta)) <= self.radius * (1 + 1e-9)
        return 0.0 if inside else float("inf")

    def gradient(self, theta):
        return np.zeros_like(theta)

    def prox(self, theta, step):
        w = self._constrained(theta)
        if self._norm(w) <= self.radius:
            return theta
        projected = theta.copy()
        self._constrained(projected)[...] = self._project(w)
        return projected

    def _constrained(self, theta):
        return theta[:len(theta) - self.free_rows]


@dataclass(frozen=True)
class L2Ball(_Ball):
    """``||w||_2 <= radius``, over all classes together."""

    def _norm(self, w):
        return float(np.sqrt(np.square(w).sum()))

    def _project(self, w):
        return w * (self.radius / self._norm(w))


@dataclass(frozen=True)
class L1Ball(_Ball):
    """``||w||_1 <= radius``, over all classes together."""

    def _norm(self, w):
        return float(np.abs(w).sum())

    def _project(self, w):
        # Sort and threshold (Duchi et al. 2008), relative to the largest entry: what is kept is
        # within a radius of it, so that nothing cancels.
        below = np.abs(w)
        below -= below.max()
        ordered = np.sort(below, axis=None)[::-1]
        excess = (np.cumsum(ordered) - self.radius) / np.arange(1, ordered.size + 1)
        threshold = excess[np.count_nonzero(ordered > excess) - 1]
        return np.sign(w) * np.maximum(below - threshold, 0.0)

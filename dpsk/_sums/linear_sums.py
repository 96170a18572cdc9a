"""Sums over rows of a linear model, exact or rounded; sensitive, for oracles only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import rounding_margin
from dpsk._models.clipping import HEADROOM, SHORTEST
from dpsk._sums.clip import Clip
from dpsk._sums.clipped_sums import ClippedSums
from dpsk._sums.float_entry import FloatEntry
from dpsk._sums.grid_entry import GridEntry
from dpsk._sums.terms import Terms, clipped_sum
from dpsk._sums.whitened_entry import WhitenedGridEntry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._sums.float_entry import Part
    from dpsk._typing import Chosen, FloatArray

__all__ = ["LinearSums", "LinearTerms", "float_sums", "grid_sums", "max_norm_sums",
           "whitened_grid_sums"]

_UNIT = 2.0**-53
_LARGEST = np.finfo(np.float64).max


class LinearTerms(Terms):
    """Gradients of a block, each the product of derivatives and a scaled row.

    Parameters
    ----------
    entry : FloatEntry
    derivatives : ndarray of shape (n,) or (n, n_outputs)
        Derivatives with respect to the raw predictions, times the weights; overwritten.
    part : Part
    """

    def __init__(self, entry: FloatEntry, derivatives: FloatArray, part: Part) -> None:
        self._entry, self.derivatives, self._part = entry, derivatives, part

    def clip(self, rule: Clip) -> None:
        limits, norm = self._part.limits, self._entry.clip.norm
        if rule.norm != norm:
            # A limit is infinite where its value exceeds the largest float.
            limits = np.minimum(limits, _LARGEST)
            limits *= rule.norm / norm
        rule.shorten(self.derivatives, limits)

    def add(self, total: Any) -> None:
        self._entry.add(self.derivatives, self._part, total)

    def less(self, others: FloatArray) -> LinearTerms:
        """Return the terms of the same rows with `others` subtracted from the derivatives."""
        return LinearTerms(self._entry, self.derivatives - others, self._part)


class LinearSums(ClippedSums):
    """Sums of clipped gradients and of curvatures over the rows of a linear model.

    In a group of k rows, every gradient is clipped to the norm and divided by k. The group's term
    is the average of its rows' clipped gradients, so it is no longer than the norm.

    Parameters
    ----------
    loss : Loss
    entry : FloatEntry
        Computes the terms of rows; holds the model and the clip.
    """

    #: The point of the last curvature, and the sum of gradients at that point.
    _beside_curvature: Any = None

    def __init__(self, loss: Any, entry: FloatEntry) -> None:
        super().__init__(entry.model, loss, entry.n_samples, entry.clip)
        self.entry = entry
        self.resolution, self.arithmetic = entry.resolution, entry.arithmetic

    @property
    def clips(self) -> bool:
        """bool : whether the clip may change a gradient, by the bounds of loss and model."""
        longest = self.model.coordinate_bound if self.clip.order == math.inf else self.model.radius
        implied = self.entry.rows.weight_bound * self.loss.lipschitz * longest
        return self.clip_norm * HEADROOM < implied

    @property
    def smoothness(self) -> float:
        """float : smoothness of one row's loss in theta; clipping does not increase it."""
        return self.entry.rows.weight_bound * self.loss.smoothness * self.model.radius**2

    @property
    def risk_at_zero(self) -> float:
        """float : bound on the mean loss at theta = 0."""
        return self.entry.rows.weight_bound * self.loss.at_zero(self.model.n_outputs)

    @property
    def rounding(self) -> float:
        """float : factor by which rounding in the sum increases its sensitivity."""
        return rounding_margin(self.rounding_terms(self.n_samples))

    def rounding_terms(self, n_rows: float) -> Any:
        return self.entry.rounding_terms(n_rows)

    def rounding_error(self, reach: float, more: float) -> float:
        """Bound the rounding in a mean gradient at points of norm at most `reach`.

        The sum of n terms has an error of ``n u C``. A raw prediction has an error of
        ``d u R reach``, and the derivative adds its own rounding; the gradient moves by beta / R
        times these errors. `more` is the norm of a term added to the mean. All are public.
        """
        # A linear map of rows amplifies the rounding errors before it.
        growth = (self.rounding_terms(self.n_samples) / self.n_samples)**2
        predictions = growth * (self.model.dimension + 8.0) * self.smoothness * (
            reach + 1.0 / self.model.radius)
        sums = growth * (self.n_samples + 8.0) * self.clip_norm
        return _UNIT * (predictions + sums + more)

    def require_monotone(self) -> None:
        """Raise a ValueError if gradient steps may not be nonexpansive."""
        if not self.loss.convex:
            raise ValueError(f"{type(self.loss).__name__} is not convex, so steps may drive "
                             "neighboring runs apart; use a solver that releases noisy "
                             "gradients, such as solver='gd'.")
        if self.loss.vector_output and self.clips:
            raise ValueError(
                f"clip_norm={self.clip_norm:.6g} clips gradients of a vector-valued prediction, "
                "which are then not the gradients of any convex loss; set clip_norm=inf or use "
                "a solver that releases noisy gradients, such as solver='gd'.")

    def partial(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        if self._beside_curvature is not None:
            at, whole = self._beside_curvature
            self._beside_curvature = None
            if rows is None and np.array_equal(at, theta):
                return whole
        return self.entry.whole(super().partial(theta, rows))

    def zeros(self) -> Any:
        return self.entry.zeros()

    def finish(self, total: FloatArray) -> FloatArray:
        return self.entry.finish(total)

    def terms(self, theta: FloatArray, rows: Chosen) -> Iterator[Any]:
        point, take = self.entry.point(theta), self.entry.take
        return (self._gradients(point, take(block)) for block in self.entry.blocks(rows))

    def scores(self, theta: FloatArray) -> RowSource:
        """Return the raw predictions at `theta` as a source of rows; sensitive.

        Those of rows that are scaled down with their targets are scaled up again.
        The features have shape (n, n_outputs), or (n, 1) for a scalar prediction.
        """
        entry, point = self.entry, self.entry.point(theta)
        raw = np.empty((len(entry.rows), self.model.n_outputs or 1))
        for places, part in entry.placed():
            found = entry.full_length(entry.predict(point, part), part)
            raw[places] = found.reshape(-1, raw.shape[1])
        return entry.rows.with_features(raw)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of the sum of clipped losses at `theta`, float64.

        For scalar predictions only. A clipped gradient is constant, so its row adds nothing. The
        Hessian may guide an optimizer; no privacy guarantee may rest on it.
        """
        total = np.zeros((len(theta), len(theta)))
        point = self.entry.point(theta)
        for part in map(self.entry.take, self.entry.blocks()):
            curvature, slope = self._derivatives(point, part)
            # Comparisons with NaN are false.
            curvature[~(np.abs(slope) < part.limits)] = 0.0
            self.model.outer_sum(np.maximum(curvature, 0.0, out=curvature), part.X, part.scale,
                                 total)
        return total

    def curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Return the sum of rows' outer products times curvatures, float64, (p, p).

        For scalar predictions only. The largest eigenvalue of a row's term is at most `bound`.
        Where the clip shortens a gradient, it lowers the curvature by the same factor.
        """
        return self.finish_curvature(self.partial_curvature(theta, bound), bound)

    def partial_curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Return this location's sum of curvatures, which the caller adds over locations."""
        entry = self.entry
        point, total, gradients = entry.point(theta), entry.no_products(), entry.zeros()
        for part in map(entry.take, entry.blocks()):
            weights, slopes = self._curvatures(point, part, bound)
            if entry.pairs:
                clipped_sum([LinearTerms(entry, slopes, part)], self.clip, gradients)
            entry.add_products(weights, part, bound, total)
        if entry.pairs:
            # A Newton step asks for the gradient at the same point next.
            self._beside_curvature = theta.copy(), entry.whole(gradients)
        return entry.whole(total)

    def finish_curvature(self, whole: FloatArray, bound: float) -> FloatArray:
        """Return the curvature from the added results of `partial_curvature`."""
        return self.entry.finish_products(whole, bound)

    def curvature_bound(self, bound: float) -> tuple[float, int]:
        """Return the bound on a row's rounded curvature, and `Sensitivity.terms`."""
        return self.entry.products_bound(bound)

    def _curvatures(self, point: FloatArray, part: Part,
                    bound: float) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the rows' outer products, and unclipped derivatives.

        No weight is negative.
        """
        curvature, slope = self._derivatives(point, part)
        limits = part.limits.astype(np.float64, copy=False)
        curvature *= np.minimum(1.0, limits / np.maximum(np.abs(slope), SHORTEST))
        # Limits are the clip norm over the norms of rows, with rounding slack.
        np.minimum(curvature, bound * (limits / self.clip_norm)**2, out=curvature)
        # Comparisons with NaN are false.
        curvature[~(curvature > 0.0)] = 0.0
        return curvature, slope

    def _gradients(self, point: FloatArray, part: Part) -> LinearTerms:
        """Return the gradients of the rows in `part`, before the clip."""
        dz = self.loss.gradient(self.entry.targets(part), self.entry.predict(point, part))
        if part.weights is not None:
            dz *= part.weights if dz.ndim == 1 else part.weights[:, None]
        return LinearTerms(self.entry, dz, part)

    def _derivatives(self, point: FloatArray, part: Part) -> tuple[FloatArray, FloatArray]:
        """Return the weighted second and first derivatives of scalar predictions."""
        z, y = self.entry.predict(point, part), self.entry.targets(part)
        curvature, slope = self.loss.hessian(y, z), self.loss.gradient(y, z)
        if part.weights is not None:
            curvature, slope = part.weights * curvature, part.weights * slope
        return curvature, slope


def float_sums(model: Any, loss: Any, rows: RowSource, clip_norm: float, order: float = 2,
               n_samples: int | None = None) -> LinearSums:
    """Return sums in double precision of gradients clipped in the l1, l2 or max norm."""
    return LinearSums(loss, FloatEntry(model, rows, Clip(clip_norm, order), n_samples))


def max_norm_sums(model: Any, loss: Any, rows: RowSource, clip_norm: float,
                  n_samples: int | None = None) -> LinearSums:
    """Return `float_sums` of gradients clipped to `clip_norm` in the max norm."""
    return float_sums(model, loss, rows, clip_norm, math.inf, n_samples)


def grid_sums(model: Any, loss: Any, rows: RowSource, clip_norm: float, bits: int,
              order: float = 2, n_samples: int | None = None) -> LinearSums:
    """Return exact sums on a grid of public resolution; `bits` is from `grid_bits`."""
    return LinearSums(loss, GridEntry(model, rows, Clip(clip_norm, order), bits, n_samples))


def whitened_grid_sums(model: Any, loss: Any, rows: RowSource, clip_norm: float,
                       n_samples: int | None = None) -> LinearSums:
    """Return sums of a `WhitenedModel`: exact over unmapped rows, then mapped once."""
    return LinearSums(loss, WhitenedGridEntry(model, rows, Clip(clip_norm), n_samples))

"""Sums over rows of a linear map: exact or rounded, sensitive, and for oracles only."""

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
    """Gradients of a block, each the product of derivatives and a row as it enters.

    Parameters
    ----------
    entry : FloatEntry
    derivatives : ndarray of shape (n,) or (n, n_outputs)
        In the raw predictions, weights included; overwritten.
    part : Part
    """

    def __init__(self, entry: FloatEntry, derivatives: FloatArray, part: Part) -> None:
        self._entry, self.derivatives, self._part = entry, derivatives, part

    def clip(self, rule: Clip) -> None:
        limits, norm = self._part.limits, self._entry.clip.norm
        if rule.norm != norm:
            # An infinite limit stands for one beyond the largest float.
            limits = np.minimum(limits, _LARGEST)
            limits *= rule.norm / norm
        rule.shorten(self.derivatives, limits)

    def add(self, total: Any) -> None:
        self._entry.add(self.derivatives, self._part, total)

    def less(self, others: FloatArray) -> LinearTerms:
        """Return the products of the same rows and derivatives less `others`."""
        return LinearTerms(self._entry, self.derivatives - others, self._part)


class LinearSums(ClippedSums):
    """Rows of a linear map, their clipped gradient sums, and sums of their curvature.

    Of a group of k rows every gradient is clipped to the norm and enters over k, so that the
    group's total, the average of its rows' clipped gradients, has that norm at most.

    Parameters
    ----------
    loss : Loss
    entry : FloatEntry
        How rows enter, with the model and the clip.
    """

    #: The point of the last curvature, and the sum of gradients there.
    _beside_curvature: Any = None

    def __init__(self, loss: Any, entry: FloatEntry) -> None:
        super().__init__(entry.model, loss, entry.n_samples, entry.clip)
        self.entry = entry
        self.resolution, self.arithmetic = entry.resolution, entry.arithmetic

    @property
    def clips(self) -> bool:
        """bool : whether the clip may change a gradient, by what loss and model imply."""
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
        """float : rounding in n-term sums adds up to n u a step to a distance of order 1/n."""
        return rounding_margin(self.rounding_terms(self.n_samples))

    def rounding_terms(self, n_rows: float) -> Any:
        return self.entry.rounding_terms(n_rows)

    def rounding_error(self, reach: float, more: float) -> float:
        """Bound the rounding in a mean gradient at points of norm `reach`, from public facts.

        The sum of n terms is off by ``n u C``. A raw prediction is off by ``d u R reach``, and
        the derivative at it by its own rounding besides, which moves a gradient by beta / R times
        as much. `more` is the size of what is added to the mean.
        """
        # A map of rows lets what rounds before it grow.
        growth = (self.rounding_terms(self.n_samples) / self.n_samples)**2
        predictions = growth * (self.model.dimension + 8.0) * self.smoothness * (
            reach + 1.0 / self.model.radius)
        sums = growth * (self.n_samples + 8.0) * self.clip_norm
        return _UNIT * (predictions + sums + more)

    def require_monotone(self) -> None:
        """Raise a ValueError where an argument by nonexpansive steps would be void."""
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
        """Return the rows' raw predictions at `theta` as rows; sensitive, as those are.

        Their features have shape (n, n_outputs), or (n, 1) for a scalar prediction.
        """
        entry, point = self.entry, self.entry.point(theta)
        raw = np.empty((len(entry.rows), self.model.n_outputs or 1))
        for places, part in entry.placed():
            raw[places] = entry.predict(point, part).reshape(-1, raw.shape[1])
        return entry.rows.with_features(raw)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of the sum of clipped losses at `theta`, float64.

        Of scalar predictions. A gradient that is clipped is constant, so its row adds nothing.
        For choosing where to look, never for what a guarantee rests on.
        """
        total = np.zeros((len(theta), len(theta)))
        point = self.entry.point(theta)
        for part in map(self.entry.take, self.entry.blocks()):
            curvature, slope = self._derivatives(point, part)
            # Comparisons with what is no number are false.
            curvature[~(np.abs(slope) < part.limits)] = 0.0
            self.model.outer_sum(np.maximum(curvature, 0.0, out=curvature), part.X, part.scale,
                                 total)
        return total

    def curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Return the sum of the rows' outer products with their curvatures, float64, (p, p).

        Of scalar predictions. The largest eigenvalue of what a row adds is at most `bound`. Where
        its gradient is clipped its curvature is lowered as much.
        """
        return self.finish_curvature(self.partial_curvature(theta, bound), bound)

    def partial_curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Return the part of a curvature that adds up over places, of these rows."""
        entry = self.entry
        point, total, gradients = entry.point(theta), entry.no_products(), entry.zeros()
        for part in map(entry.take, entry.blocks()):
            weights, slopes = self._curvatures(point, part, bound)
            if entry.pairs:
                clipped_sum([LinearTerms(entry, slopes, part)], self.clip, gradients)
            entry.add_products(weights, part, bound, total)
        if entry.pairs:
            # A step asks for the gradient at the same point.
            self._beside_curvature = theta.copy(), entry.whole(gradients)
        return entry.whole(total)

    def finish_curvature(self, whole: FloatArray, bound: float) -> FloatArray:
        """Return the curvature that a total of parts stands for."""
        return self.entry.finish_products(whole, bound)

    def curvature_bound(self, bound: float) -> tuple[float, int]:
        """Return how large rounding makes a row's term of `curvature`, and the `terms` of a part.
        """
        return self.entry.products_bound(bound)

    def _curvatures(self, point: FloatArray, part: Part,
                    bound: float) -> tuple[FloatArray, FloatArray]:
        """Return the weights of outer products of the rows in `part`, and their derivatives.

        No weight is negative; derivatives are those before the clip.
        """
        curvature, slope = self._derivatives(point, part)
        limits = part.limits.astype(np.float64, copy=False)
        curvature *= np.minimum(1.0, limits / np.maximum(np.abs(slope), SHORTEST))
        # Limits are the clip norm over the norms of rows, with head-room.
        np.minimum(curvature, bound * (limits / self.clip_norm)**2, out=curvature)
        # Comparisons with what is no number are false.
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
    """Return sums in double precision, of gradients whose l1 or l2 norm is clipped."""
    return LinearSums(loss, FloatEntry(model, rows, Clip(clip_norm, order), n_samples))


def max_norm_sums(model: Any, loss: Any, rows: RowSource, clip_norm: float,
                  n_samples: int | None = None) -> LinearSums:
    """Return sums of gradients whose largest absolute entry is at most `clip_norm`."""
    return float_sums(model, loss, rows, clip_norm, math.inf, n_samples)


def grid_sums(model: Any, loss: Any, rows: RowSource, clip_norm: float, bits: int,
              order: float = 2, n_samples: int | None = None) -> LinearSums:
    """Return sums on a grid of public resolution, exact in any order; `bits` of `grid_bits`."""
    return LinearSums(loss, GridEntry(model, rows, Clip(clip_norm, order), bits, n_samples))


def whitened_grid_sums(model: Any, loss: Any, rows: RowSource, clip_norm: float,
                       n_samples: int | None = None) -> LinearSums:
    """Return sums of a `WhitenedModel`, exact over the rows as they are, then mapped once."""
    return LinearSums(loss, WhitenedGridEntry(model, rows, Clip(clip_norm), n_samples))

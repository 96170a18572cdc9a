"""Sums of clipped per-sample gradients: exact, sensitive, and for oracles only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.norms import absolute_sums
from dpsk._mechanism.sensitivity import rounding_margin
from dpsk._models.clipping import HEADROOM, SHORTEST, clip_factors
from tests.reference.whole_sums import WholeSums

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import AnyArray, Chosen, Features, FloatArray

__all__ = ["RowSums"]

# Large enough for threaded matrix-vector products, small enough for a cache to keep a block from
# its predictions to its gradient.
_BLOCK_BYTES = 1 << 21
_CSR_ROWS = 1 << 14
_UNIT = 2.0**-53
#: Smaller numbers have fewer bits.
_LEAST = float(np.finfo(np.float64).tiny)


class RowSums(WholeSums):
    """Rows, targets and the clipped gradient sums over them, in double precision.

    Every per-sample gradient that enters a sum has norm at most `clip_norm`; a non-finite one
    enters as zero. No (n, dimension) array is made. Rows of single precision are converted
    block by block: a float32 sum of many rows can lose more than a row's share.

    Of a group of k rows every gradient is clipped to the norm and enters over k, so that the
    group's total, the average of its rows' clipped gradients, has that norm at most.

    Parameters
    ----------
    model : LinearModel
    loss : Loss
    rows : RowSource
    clip_norm : float
        Enforced whatever the loss claims of its slope.
    order : {1, 2}
        Whether `clip_norm` bounds l1 or l2 norms. A gradient is the product of derivatives and
        row, so its norm is the product of theirs in either case.
    n_samples : int or None
        The public number of rows, or of groups, of the whole sum, where `rows` are some of them.

    Attributes
    ----------
    resolution : float or None
        Every sum is a multiple of it, exactly; None where sums are rounded.
    """

    resolution: float | None = None
    arithmetic = "float"

    def __init__(self, model: Any, loss: Any, rows: RowSource, clip_norm: float, order: int = 2,
                 n_samples: int | None = None) -> None:
        self.model = model
        self.loss = loss
        self.n_samples = n_samples or rows.n_units
        self._clip_norm, self._order = clip_norm, order
        self._rows = rows.clipped_by(model)
        self._block = self._block_size()
        self._scale, self._limits = self._enter()

    @property
    def clip_norm(self) -> float:
        """float : bound on the norm of one row's gradient; read-only, as limits follow it."""
        return self._clip_norm

    @property
    def clips(self) -> bool:
        """bool : whether the clip may change a gradient, by what loss and model imply."""
        implied = self._rows.weight_bound * self.loss.lipschitz * self.model.radius
        return self.clip_norm * HEADROOM < implied

    @property
    def smoothness(self) -> float:
        """float : smoothness of one row's loss in theta; clipping does not increase it."""
        return self._rows.weight_bound * self.loss.smoothness * self.model.radius**2

    @property
    def risk_at_zero(self) -> float:
        """float : bound on the mean loss at theta = 0."""
        return self._rows.weight_bound * self.loss.at_zero(self.model.n_outputs)

    @property
    def rounding(self) -> float:
        """float : rounding in n-term sums adds up to n u a step to a distance of order 1/n."""
        return rounding_margin(self.rounding_terms(self.n_samples))

    def rounding_terms(self, n_rows: float) -> float:
        """Return the `terms` of a part of an answer that sums over `n_rows`."""
        return self.model.rounding_terms(n_rows)

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

    def gradient(self, theta: FloatArray, rows: Chosen = None) -> FloatArray:
        """Return the sum of clipped gradients at `theta`, float64, shape of theta.

        `rows` are the indices of the rows, or of the groups, to sum over; None for all.
        """
        total = np.zeros(self.model.shape)
        theta = self._point(theta)
        for block in self._blocks(rows):
            part = self._take(block)
            self.model.gradient_sum(self._derivatives(theta, part), part[0], part[2], total)
        return total

    def scores(self, theta: FloatArray) -> RowSource:
        """Return the rows' raw predictions at `theta` as rows; sensitive, as those are.

        Their features have shape (n, n_outputs), or (n, 1) for a scalar prediction.
        """
        theta = self._point(theta)
        raw = np.empty((len(self._rows), self.model.n_outputs or 1))
        for block in self._blocks(None):
            X, _, scale, _, _ = self._take(block)
            raw[block] = self._predict(theta, X, scale).reshape(-1, raw.shape[1])
        return self._rows.with_features(raw)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the Hessian of the sum of clipped losses at `theta`, float64.

        Of scalar predictions. A gradient that is clipped is constant, so its row adds nothing.
        For choosing where to look, never for what a guarantee rests on.
        """
        total = np.zeros((len(theta), len(theta)))
        theta = self._point(theta)
        for X, y, scale, limits, weights in map(self._take, self._blocks(None)):
            z = self._predict(theta, X, scale)
            y = self._targets(y, scale)
            curvature, slope = self.loss.hessian(y, z), self.loss.gradient(y, z)
            if weights is not None:
                curvature, slope = weights * curvature, weights * slope
            # Comparisons with what is no number are false.
            curvature[~(np.abs(slope) < limits)] = 0.0
            self.model.outer_sum(np.maximum(curvature, 0.0, out=curvature), X, scale, total)
        return total

    def curvature(self, theta: FloatArray, bound: float) -> FloatArray:
        """Return the sum of the rows' outer products with their curvatures, float64, (p, p).

        Of scalar predictions. The largest eigenvalue of what a row adds is at most `bound`. Where
        its gradient is clipped its curvature is lowered as much.
        """
        total = np.zeros((len(theta), len(theta)))
        theta = self._point(theta)
        for part in map(self._take, self._blocks(None)):
            (curvatures, _), scale = self._curvatures(theta, part, bound), part[2]
            squares = (scale if scale.ndim == 1 else scale[:, 0])**2
            # Products of too few bits would not keep the bound.
            curvatures[np.minimum(squares, curvatures * squares) < _LEAST] = 0.0
            self.model.outer_sum(curvatures, part[0], scale, total)
        return total

    def curvature_bound(self, bound: float) -> tuple[float, int]:
        """Return how large rounding makes a row's term of `curvature`, and the `terms` of a part.
        """
        # Two sums are off by as much as ever, beside a distance of sqrt(2) bounds and not 2.
        return bound, math.ceil(2.0**0.25 * self.n_samples)

    def _curvatures(self, theta: FloatArray, part: Any,
                    bound: float) -> tuple[FloatArray, FloatArray]:
        """Return the weights of outer products of the rows in `part`, and their derivatives.

        No weight is negative; derivatives are those before the clip.
        """
        X, y, scale, limits, weights = part
        z, y = self._predict(theta, X, scale), self._targets(y, scale)
        curvature, slope = self.loss.hessian(y, z), self.loss.gradient(y, z)
        if weights is not None:
            curvature, slope = weights * curvature, weights * slope
        limits = limits.astype(np.float64, copy=False)
        curvature *= np.minimum(1.0, limits / np.maximum(np.abs(slope), SHORTEST))
        # Limits are the clip norm over the norms of rows, with head-room.
        np.minimum(curvature, bound * (limits / self.clip_norm)**2, out=curvature)
        # Comparisons with what is no number are false.
        curvature[~(curvature > 0.0)] = 0.0
        return curvature, slope

    def _block_size(self) -> int:
        """Return how many rows are read at a time; it follows from public facts."""
        rows = self._rows
        if not rows.is_sparse:
            return max(1, _BLOCK_BYTES // (8 * rows.n_features))
        # Slices are copies, which pay only where blocks save as much elsewhere.
        copied = self.loss.vector_output or rows.dtype != np.float64
        return max(_CSR_ROWS, rows.n_features) if copied else max(1, len(rows))

    def _enter(self) -> tuple[FloatArray, FloatArray]:
        """Return the scale of every row, and the limit on the norm of its derivatives."""
        scales, limits = [], np.empty(len(self._rows))
        for part in self._rows.blocks(self._block):
            X = self._rows.take(part).X
            scale, norms = self._row_scales(X)
            scales.append(scale)
            limits[part] = self._limit(self._entering(X, scale, norms), part)
        # A place may have no rows.
        return np.concatenate(scales) if scales else limits, limits

    def _row_scales(self, X: Features) -> tuple[FloatArray, FloatArray]:
        """Return the scales of rows, and the norms they then have."""
        return self.model.row_scales(X)

    def _limit(self, norms: FloatArray, part: Any) -> FloatArray:
        """Return the limits on derivatives of the rows of a slice, which enter with some norms."""
        # The squares of shorter rows underflow: their norms may be off, and are no larger.
        norms = np.maximum(norms, SHORTEST)
        if self._rows.groups is not None:
            # The k rows of a group have a k-th of the clip norm each.
            norms *= self._rows.groups.sizes[part]
        with np.errstate(over="ignore"):
            return np.divide(self._clip_norm * HEADROOM, norms, out=norms)

    def _entering(self, X: Features, scale: FloatArray | None, norms: FloatArray) -> FloatArray:
        """Return the norms, by this clip's measure, of scaled rows as they enter."""
        if self._order == 1:
            norms = absolute_sums(X, scale)
        return self.model.entering_norms(norms, self._order)

    def _lengths(self, dz: FloatArray) -> FloatArray:
        """Return the norms of vectors of derivatives, shape (n,)."""
        return (np.sqrt(np.einsum("ij,ij->i", dz, dz)) if self._order == 2
                else np.abs(dz).sum(axis=1))

    def _point(self, theta: FloatArray) -> FloatArray:
        """Return the public point at which gradients are taken."""
        return theta

    def _clipped(self, dz: FloatArray, limits: FloatArray,
                 weights: FloatArray | None) -> FloatArray:
        """Weight derivatives and clip them so that gradients stay within the norm."""
        if weights is not None:
            dz *= weights if dz.ndim == 1 else weights[:, None]
        # Finite derivatives whose squares overflow only take the longer way.
        if not math.isfinite(np.vdot(dz, dz)):
            dz[~np.isfinite(dz).reshape(len(dz), -1).all(axis=1)] = 0.0
        if dz.ndim == 1:
            np.minimum(dz, limits, out=dz)
            return np.maximum(dz, -limits, out=dz)
        lengths = self._lengths(dz)
        # The squares of shorter derivatives underflow: those are not longer than this.
        np.maximum(lengths, SHORTEST, out=lengths)
        dz *= clip_factors(lengths, limits)[:, None]
        return dz

    def _derivatives(self, theta: FloatArray, part: Any) -> FloatArray:
        """Return the clipped derivatives of the rows in `part`, as `_take` returned it."""
        X, y, scale, limits, weights = part
        z = self._predict(theta, X, scale)
        return self._clipped(self.loss.gradient(self._targets(y, scale), z), limits, weights)

    def _targets(self, y: AnyArray, scale: Any) -> AnyArray:
        """Return the targets of rows with their scales, as they meet predictions."""
        return y * self._wholes(scale) if self.model.scales_targets else y

    def _wholes(self, scale: Any) -> FloatArray:
        """Return what rows of some scales are multiplied by as a whole, the constant included."""
        return scale[:, 1]

    def _predict(self, point: AnyArray, X: Features, scale: FloatArray | None) -> FloatArray:
        """Return the raw predictions of rows with their scales at what `_point` returned."""
        return self.model.predict_raw(point, X, scale)

    def _blocks(self, rows: Chosen) -> Iterator[Any]:
        """Yield slices of the table where all rows are read, else parts of the indices."""
        return self._rows.parts(self._block, rows)

    def _take(self, block: Any) -> tuple[Any, ...]:
        """Return (X, y, scale, limits, weights) of a block, as views where it is a slice."""
        X, y, weights = self._rows.take(block)
        scale = None if self._scale is None else self._scale[block]
        X = X if X.dtype == np.float64 else X.astype(np.float64)
        return X, y, scale, self._limits[block], weights

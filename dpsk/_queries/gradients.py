"""Noisy gradients of the mean loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.parted import on_threads
from dpsk._defaults.networks import MANY_WEIGHTS
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._models import ScaleModel, WhitenedModel
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.noise.grids import grid_bits
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle
from dpsk._sums.group_sums import GroupSums
from dpsk._sums.linear_sums import float_sums, grid_sums, whitened_grid_sums
from dpsk._sums.network_sums import NetworkSums
from dpsk._sums.parted_sums import sums_over
from dpsk._sums.transition_sums import SemiGradientSums

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._queries.context import Context
    from dpsk._typing import FloatArray

__all__ = ["GradientOracle", "SemiGradientOracle", "open_sums"]


class GradientOracle(Oracle):
    """Answer with ``(1/m) [ sum of clipped gradients + N(0, (z C)^2 I) ]``.

    The divisor `m` is the public expected batch size. Where the sums lie on a grid the noise is
    rounded to it; elsewhere it is larger by a margin for their rounding. `sums` are
    ClippedSums, and `declared` is NoisySums. C bounds what one group adds, where
    rows are in groups: the second of two clips.
    """

    takes_networks = True

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the rows of a `Context`, on a grid where noise allows it."""
        problem = context.problem
        sums = open_sums(problem.model, problem.loss, context.declared, context.clip,
                         context.rows, context.noise_multiplier)
        return cls(sums, context.declared, context.noise_multiplier, context.session)

    def __init__(self, sums: Any, declared: Any, noise_multiplier: float,
                 session: Session) -> None:
        batches, n_samples = declared.batches, sums.n_samples
        self._sums, self._session = sums, session
        self._event = batches.release(noise_multiplier)
        self._divisor = batches.expected_size(n_samples)
        self._batches = session.batches(batches, n_samples, declared.count)
        self._moved = Sensitivity(
            REPLACE_ONE * sums.clip_norm, session.normals(sums.model.shape, declared.count),
            sums.resolution, sums.rounding_terms(batches.largest_size(n_samples)),
            sums.model.dimension)

    @property
    def arithmetic(self) -> str:
        """str : "grid" where sums and noise are exact multiples of a unit, else "float"."""
        return self._sums.arithmetic

    @property
    def noise_std(self) -> float:
        """float : standard deviation of the noise on every coordinate of an answer; public."""
        return derived_scale(self._event, self._moved.moved) / self._divisor

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the noisy mean gradient at the public point `theta`, float64, like it."""
        return self._session(
            self._event, lambda batch: self._sums.gradient(theta, batch.rows), self._moved,
            divisor=self._divisor, batches=self._batches,
            # A thread costs as much as the noise of some ten thousand weights.
            overlap=not self._sums.model.is_linear
            and self._sums.model.dimension >= MANY_WEIGHTS)

    def along(self, theta: FloatArray, declared: Any, clip_share: float,
              noise_multiplier: float) -> GradientOracle:
        """Return an oracle for multiples of the public `theta`, not zero: what one number moves.

        Its points and answers have shape (1,): the derivative in the factor. `clip_share` is the
        clip norm over ``||theta|| radius``, which bounds the scores of a row.
        """
        model = self._sums.model
        bound = float(np.linalg.norm(theta)) * model.radius
        ray = ScaleModel(model.n_outputs or 1, model.n_outputs, False, bound)
        sums = open_sums(ray, self._sums.loss, declared, clip_share * bound,
                          self._sums.scores(theta), noise_multiplier)
        return GradientOracle(sums, declared, noise_multiplier, self._session)


class SemiGradientOracle(GradientOracle):
    """Answer with noisy mean semi-gradients of transitions, clipped, or of groups of them."""

    @classmethod
    def open(cls, context: Context) -> Self:
        """Return an oracle over the transitions of a `Context`."""
        problem = context.problem
        sums = SemiGradientSums(problem.model, problem.loss, context.rows, context.clip)
        return cls(sums, context.declared, context.noise_multiplier, context.session)


def open_sums(model: Any, loss: Any, declared: Any, clip: Any, rows: RowSource,
              noise_multiplier: float) -> Any:
    """Return what sums over `rows`: of a network, exact on a grid, or in floating point.

    `clip` is the clip norm of a row, or that and the one of a group.
    """
    clip_norm, group_clip = clip if isinstance(clip, tuple) else (clip, clip)
    if not model.is_linear:
        return sums_over(NetworkSums, model, loss, rows, clip_norm)
    if rows.groups is not None:
        return GroupSums(model, loss, rows, clip_norm, group_clip)
    bits = None
    # Without noise there is nothing for a grid to hide under.
    if noise_multiplier and isinstance(declared.batches, FullBatch):
        if isinstance(model, WhitenedModel):
            return sums_over(whitened_grid_sums, model, loss, on_threads(rows), clip_norm)
        bits = grid_bits(rows.n_units, clip_norm, noise_multiplier * clip_norm)
    if bits is None:
        return sums_over(float_sums, model, loss, rows, clip_norm)
    return sums_over(grid_sums, model, loss, on_threads(rows), clip_norm, bits)

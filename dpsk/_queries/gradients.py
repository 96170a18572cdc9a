"""Noisy gradients of the mean loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._data.parted import on_threads
from dpsk._defaults.networks import MANY_WEIGHTS
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._models import ScaleModel, WhitenedModel
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.noise.grids import grid_bits
from dpsk._privacy.plans import NoisySums
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle, Queries
from dpsk._statistics.quantiles import noisy_quantile
from dpsk._sums.group_sums import GroupSums
from dpsk._sums.linear_sums import float_sums, grid_sums, whitened_grid_sums
from dpsk._sums.network_sums import NetworkSums
from dpsk._sums.parted_sums import sums_over
from dpsk._sums.transition_sums import SemiGradientSums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Elementary, Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["GradientOracle", "Gradients", "SemiGradients", "open_sums"]


@dataclass(frozen=True)
class Gradients(Queries):
    """Noisy mean gradients of the loss, each over all rows or over a random batch.

    Parameters
    ----------
    answers : NoisySums
    clip_norm : float
        C, the clip norm of a row's gradient.
    group_clip_norm : float or None
        For linear models on grouped rows: the clip norm of a group's average, which replaces C
        in the noise scale. None: C.
    """

    answers: NoisySums
    clip_norm: float
    group_clip_norm: float | None = None

    takes_networks: ClassVar[bool] = True

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all answers."""
        return self.answers(noise_multiplier)

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> GradientOracle:
        """Return the oracle over rows, with sums on a grid if the noise allows it."""
        problem, rows = data
        sums = open_sums(problem.model, problem.loss, self, rows, noise_multiplier)
        return GradientOracle(sums, self.answers, noise_multiplier, session)


@dataclass(frozen=True)
class SemiGradients(Gradients):
    """Noisy mean clipped semi-gradients of transitions, or of groups of transitions."""

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> GradientOracle:
        """Return the oracle over transitions."""
        problem, rows = data
        sums = SemiGradientSums(problem.model, problem.loss, rows, self.clip_norm)
        return GradientOracle(sums, self.answers, noise_multiplier, session)


class GradientOracle(Oracle):
    """Answer with ``(1/m) [ sum of clipped gradients + N(0, (z C)^2 I) ]``.

    The divisor `m` is the public expected batch size. If the sums lie on a grid, the noise is
    rounded to that grid; otherwise the noise is larger by a rounding slack. `sums` are
    ClippedSums. For grouped rows, C bounds the contribution of one group.
    """

    def __init__(self, sums: Any, answers: NoisySums, noise_multiplier: float,
                 session: Session) -> None:
        batches, n_samples = answers.batches, sums.n_samples
        self._sums, self._session = sums, session
        self._event = answers.release(noise_multiplier)
        self._divisor = batches.expected_size(n_samples)
        self._batches = session.batches(batches, n_samples, answers.count)
        self._moved = Sensitivity(
            REPLACE_ONE * sums.clip_norm, session.normals(sums.model.shape, answers.count),
            sums.resolution, sums.rounding_terms(batches.largest_size(n_samples)),
            sums.model.dimension)

    @property
    def arithmetic(self) -> str:
        """str : "grid" if sums and noise are exact multiples of a grid spacing, else "float"."""
        return self._sums.arithmetic

    @property
    def noise_std(self) -> float:
        """float : standard deviation of the noise on every coordinate of an answer; public."""
        return derived_scale(self._event, self._moved.moved) / self._divisor

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the noisy mean gradient at the public point `theta`, float64, in its shape."""
        answer = self._session(
            self._event, lambda batch: self._sums.gradient(theta, batch.rows), self._moved,
            divisor=self._divisor, batches=self._batches,
            # Starting a thread takes as long as drawing noise for about ten thousand weights.
            overlap=not self._sums.model.is_linear
            and self._sums.model.dimension >= MANY_WEIGHTS)
        if self.answer is None and self._sums.model.is_linear:
            self.answer = answer.copy()
        return answer

    def along(self, theta: FloatArray, answers: NoisySums, clip_share: float,
              noise_multiplier: float) -> GradientOracle:
        """Return an oracle for multiples of the public, nonzero `theta`.

        Its points and answers have shape (1,): the factor, and the derivative with respect to it.
        `clip_share` is the clip norm over ``||theta|| radius``, which bounds the scores of a row.
        """
        model = self._sums.model
        bound = float(np.linalg.norm(theta)) * model.radius
        ray = ScaleModel(model.n_outputs or 1, model.n_outputs, False, bound)
        sums = open_sums(ray, self._sums.loss, Gradients(answers, clip_share * bound),
                         self._sums.scores(theta), noise_multiplier)
        return GradientOracle(sums, answers, noise_multiplier, self._session)


    def residual_quantile(self, theta: FloatArray, q: float, grid: FloatArray,
                          event: Elementary) -> float:
        """Return a point of a public grid near a quantile of targets less scores at `theta`.

        A row's score depends on no other row, so the privacy cost is that of `noisy_quantile`.
        """
        return noisy_quantile(self._sums.scores(theta), _residuals, q, grid, event, self._session)


def _residuals(rows: RowSource, part: slice) -> FloatArray:
    found = rows.take(part)
    residuals: FloatArray = found.y - found.X[:, 0]
    return residuals


def open_sums(model: Any, loss: Any, asked: Gradients, rows: RowSource,
              noise_multiplier: float) -> Any:
    """Return sums over `rows`: for networks or groups, exact on a grid, or in floats."""
    clip_norm, group_clip = asked.clip_norm, asked.group_clip_norm
    if not model.is_linear:
        return sums_over(NetworkSums, model, loss, rows, clip_norm)
    if rows.groups is not None:
        return GroupSums(model, loss, rows, clip_norm,
                         clip_norm if group_clip is None else group_clip)
    bits = None
    # The grid spacing follows from the noise, so without noise there is no grid.
    if noise_multiplier and isinstance(asked.answers.batches, FullBatch):
        if isinstance(model, WhitenedModel):
            return sums_over(whitened_grid_sums, model, loss, on_threads(rows), clip_norm)
        bits = grid_bits(rows.n_units, clip_norm, noise_multiplier * clip_norm)
    if bits is None:
        return sums_over(float_sums, model, loss, rows, clip_norm)
    return sums_over(grid_sums, model, loss, on_threads(rows), clip_norm, bits)

r"""Noisy sums of squares and cross products for least squares, in one query.

Rows ``r`` of norm at most R and targets of size at most B are released as
``A = sum r r' + (N + N')/2`` and ``b = sum y r + noise``, the entries of N with standard
deviation ``R^2 t`` and the noise with ``R B t``. With ``c = |cos|`` of the angle between the
replaced row and its replacement, the squared distance of the pair in units of the noise is at
most ``(2 (1 - c^2) + 2 (1 + c)) / t^2``, largest at ``c = 1/2``. The pair is mu-GDP with
``mu^2 = 4.5 / t^2``. Two separate releases would cost ``6 / t^2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import block_length
from dpsk._data.parted import on_threads
from dpsk._mechanism.core import mu_of
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._models.clipping import shortened
from dpsk._models.preconditioner import entering_rows
from dpsk._privacy.events import gaussian
from dpsk._privacy.noise.grids import exact_bits
from dpsk._queries.base import Oracle, Queries

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["LeastSquares", "LeastSquaresOracle"]

#: Largest distance by which replacing a row moves the pair, in units of the noise (see above).
_MOVED = math.sqrt(4.5)


@dataclass(frozen=True)
class LeastSquares(Queries):
    """One query for both moments; the noise multiplier is 1 / mu."""

    def event(self, noise_multiplier: float) -> Elementary:
        """Return the privacy cost of both moments."""
        return gaussian(mu_of(noise_multiplier))

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> LeastSquaresOracle:
        """Return the oracle over rows."""
        problem, rows = data
        return LeastSquaresOracle(problem.model, rows, self, noise_multiplier, session)


class LeastSquaresOracle(Oracle):
    """Answer once with both moments, for scalar targets clipped to [-1, 1]."""

    arithmetic = "grid"

    def __init__(self, model: Any, rows: RowSource, asked: LeastSquares,
                 noise_multiplier: float, session: Session) -> None:
        self._model, self._rows, self._session = model, rows, session
        self._event = asked.event(noise_multiplier)
        #: Noise on `A` divided by ``R^2``, and noise on `b` divided by ``R B``.
        self._spread = derived_scale(self._event, _MOVED)

    @property
    def n_samples(self) -> int:
        """int : the public number of rows."""
        return len(self._rows)

    @property
    def matrix_noise_std(self) -> float:
        """float : standard deviation of the noise on a diagonal entry of A."""
        return self._spread * self._model.radius**2

    @property
    def vector_noise_std(self) -> float:
        """float : standard deviation of the noise on an entry of b."""
        return self._spread * self._model.radius

    @property
    def counts(self) -> bool:
        """bool : whether the last entries belong to an intercept with a public count of rows."""
        return self._model.fit_intercept and not self._rows.is_weighted

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the noisy sums ``A`` (p, p), symmetric, and ``b`` (p,)."""
        row_unit, target_unit = self._units()
        radius = self._model.radius

        def summed(batch: Batch) -> tuple[FloatArray, FloatArray]:
            matrix, vector = on_threads(self._rows).added(_moments, self._model, row_unit,
                                                          target_unit)
            return matrix * row_unit**2, vector * (row_unit * target_unit)

        matrix, vector = self._session(
            self._event, summed,
            Sensitivity(_MOVED * radius**2, "symmetric_normal", row_unit**2),
            Sensitivity(_MOVED * radius, unit=row_unit * target_unit))
        if self.counts:
            matrix[-1, -1] = len(self._rows)
        return matrix, vector

    def _units(self) -> tuple[float, float]:
        """Return the grid spacings of rows and targets, powers of two, from public numbers."""
        target_unit = 2.0 ** -(exact_bits(len(self._rows), self._spread) // 2)
        return target_unit * 2.0 ** math.ceil(math.log2(self._model.radius)), target_unit


def _moments(rows: RowSource, model: Any, row_unit: float,
             target_unit: float) -> tuple[FloatArray, FloatArray]:
    """Return the sums of squares and of products with targets, in integer units."""
    size = model.shape[0]
    matrix, vector = np.zeros((size, size)), np.zeros(size)
    for part in rows.blocks(block_length(size)):
        # In integer units every sum of products is exact, so rounding cannot leak the rows.
        block, targets = _entering(model, rows.take(part))
        block, targets = np.trunc(block / row_unit), np.trunc(targets / target_unit)
        matrix += block.T @ block
        vector += block.T @ targets
    return matrix, vector


def _entering(model: Any, block: Any) -> tuple[FloatArray, FloatArray]:
    """Return rows and targets, weighted and then clipped to their bounds."""
    rows = entering_rows(model, block.X)
    targets = np.clip(block.y.astype(np.float64), -1.0, 1.0)
    if block.weights is not None:
        roots = np.sqrt(block.weights)
        targets = np.clip(targets * roots, -1.0, 1.0)
        rows *= roots[:, None]
        shortened(rows, model.radius)
    # A NaN target would make the sum NaN, which noise cannot hide.
    targets[np.isnan(targets)] = 0.0
    return rows, targets

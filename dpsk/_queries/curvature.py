r"""Noisy mean gradients and mean Hessians, for Newton's method.

A row's Hessian is ``w x x'`` with ``0 <= w ||x||^2 <= B``: a positive semidefinite matrix of rank
one. Replacing it moves the sum by ``||M - M'||_F = sqrt(|M|^2 + |M'|^2 - 2 <M, M'>)``. This is at
most ``sqrt(2) B``, because the inner product of two positive semidefinite matrices is nonnegative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsk._mechanism.core import mu_of
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.events import Composed, gaussian
from dpsk._privacy.plans import NoisySums
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle, Queries
from dpsk._queries.gradients import Gradients, open_sums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["CurvatureOracle", "Curvatures"]

#: Largest noise scale in grid spacings at which doubles are still far finer than one spacing.
_MOST_UNITS = 2.0**45


@dataclass(frozen=True)
class Curvatures(Queries):
    """Noisy mean gradients and Hessians, with fixed shares of the squared budget.

    Parameters
    ----------
    shares : tuple of float
        The fraction of mu^2 of every answer, in the order in which the solver asks.
    clip_norm : float
        C, the clip norm of a row's gradient.
    curvature_clip : float
        Bound on ``w ||x||^2``.
    """

    shares: tuple[float, ...]
    clip_norm: float
    curvature_clip: float

    def prices(self, noise_multiplier: float) -> tuple[float, ...]:
        """Return mu for every answer; infinite without noise."""
        total = mu_of(noise_multiplier)
        return tuple(math.sqrt(share) * total for share in self.shares)

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all answers."""
        return Composed(tuple(map(gaussian, self.prices(noise_multiplier))))

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> CurvatureOracle:
        """Return the oracle over rows."""
        problem, rows = data
        prices = self.prices(noise_multiplier)
        # The grid spacing suits the answer with the least noise.
        sums = open_sums(problem.model, problem.loss,
                         Gradients(NoisySums(FullBatch(), 1), self.clip_norm), rows,
                         REPLACE_ONE / max(prices))
        return CurvatureOracle(sums, self.curvature_clip, prices, session)


class CurvatureOracle(Oracle):
    """Answer with noisy gradients and Hessians of models with a scalar prediction.

    Parameters
    ----------
    sums : LinearSums
        Sums of gradients clipped at C.
    curvature_clip : float
        Bound on ``w ||x||^2``.
    prices : iterable of float
        The mu of every answer, in the order in which the solver asks.
    session : Session
    """

    def __init__(self, sums: Any, curvature_clip: float, prices: tuple[float, ...],
                 session: Session) -> None:
        self._sums, self._curvature_clip, self._session = sums, curvature_clip, session
        self._prices = iter(prices)
        self._hessian_std = math.inf

    @property
    def arithmetic(self) -> str:
        """str : "grid" if sums and noise are exact multiples of a grid spacing, else "float"."""
        return self._sums.arithmetic

    @property
    def hessian_edge(self) -> float:
        """float : the spectral edge of the noise on the last Hessian; public."""
        return self._hessian_std * math.sqrt(2.0 * self._sums.model.dimension)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the noisy mean gradient at the public point `theta`, float64, in its shape."""
        mu, sums = self._price(), self._sums
        unit, moved, event = sums.resolution, REPLACE_ONE * sums.clip_norm, gaussian(mu)
        if unit is not None and not derived_scale(event, moved) <= _MOST_UNITS * unit:
            # For noise this large, doubles are too coarse for the grid of the least noise.
            unit = None
        known = Sensitivity(moved, unit=unit, terms=sums.rounding_terms(sums.n_samples),
                            size=theta.size)
        answer = self._session(event, lambda batch: sums.gradient(theta), known,
                               divisor=sums.n_samples)
        if self.answer is None:
            self.answer = answer.copy()
        return answer

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the noisy mean Hessian at `theta`, symmetric, shape (p, p)."""
        mu, sums, clip = self._price(), self._sums, self._curvature_clip
        largest, terms = sums.curvature_bound(clip)
        event = gaussian(mu)
        known = Sensitivity(math.sqrt(2.0) * largest, "symmetric_normal", terms=terms,
                            size=theta.size**2)
        # The noise may be larger than the event requires, because it also covers rounding.
        self._hessian_std = known.noise(event).scale / sums.n_samples
        self.answer = self._session(
            event, lambda batch: _symmetric(sums.curvature(theta, clip)), known,
            divisor=sums.n_samples)
        return self.answer

    def _price(self) -> float:
        """Return mu for the next answer; raise a RuntimeError if none is left."""
        mu = next(self._prices, None)
        if mu is None:
            raise RuntimeError("Every answer of the declared plan is used up; a solver may only "
                               "ask for what its queries() declare.")
        return mu


def _symmetric(matrix: FloatArray) -> FloatArray:
    """Return the mean of a matrix and its transpose.

    A rounded product may be slightly asymmetric, and symmetric noise would not hide that.
    """
    return 0.5 * (matrix + matrix.T)

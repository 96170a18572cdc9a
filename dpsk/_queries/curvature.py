r"""Noisy mean gradients and mean Hessians, for Newton's method.

A row's Hessian is ``w x x'`` with ``0 <= w ||x||^2 <= B``: a positive semidefinite matrix of rank
one. Replacing it by another moves the sum by ``||M - M'||_F = sqrt(|M|^2 + |M'|^2 - 2 <M, M'>)``,
at most ``sqrt(2) B``, as the product of two such matrices is not negative.
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

#: Noise of so many units is still far finer than one of them, in double precision.
_MOST_UNITS = 2.0**45


@dataclass(frozen=True)
class Curvatures(Queries):
    """Noisy mean gradients and Hessians, whose squared prices stand in fixed proportions.

    Parameters
    ----------
    shares : tuple of float
        Of mu^2, one an answer, in the order in which they are asked for.
    clip_norm : float
        C, of the gradient of a row.
    curvature_clip : float
        Bound on ``w ||x||^2``.
    """

    shares: tuple[float, ...]
    clip_norm: float
    curvature_clip: float

    def prices(self, noise_multiplier: float) -> tuple[float, ...]:
        """Return the mu of every answer; infinite without noise."""
        total = mu_of(noise_multiplier)
        return tuple(math.sqrt(share) * total for share in self.shares)

    def event(self, noise_multiplier: float) -> Event:
        """Return what all answers cost."""
        return Composed(tuple(map(gaussian, self.prices(noise_multiplier))))

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> CurvatureOracle:
        """Return the oracle over rows."""
        problem, rows = data
        prices = self.prices(noise_multiplier)
        # The grid is as fine as the least noise asks for.
        sums = open_sums(problem.model, problem.loss,
                         Gradients(NoisySums(FullBatch(), 1), self.clip_norm), rows,
                         REPLACE_ONE / max(prices))
        return CurvatureOracle(sums, self.curvature_clip, prices, session)


class CurvatureOracle(Oracle):
    """Answer with gradients and Hessians of a scalar prediction, at the prices of a plan in turn.

    Parameters
    ----------
    sums : LinearSums
        Clipped at C.
    curvature_clip : float
        Bound on ``w ||x||^2``.
    prices : iterable of float
        The mu of every answer, in the order in which they are asked for.
    session : Session
    """

    def __init__(self, sums: Any, curvature_clip: float, prices: tuple[float, ...],
                 session: Session) -> None:
        self._sums, self._curvature_clip, self._session = sums, curvature_clip, session
        self._prices = iter(prices)
        self._hessian_std = math.inf

    @property
    def arithmetic(self) -> str:
        """str : "grid" where sums and noise are exact multiples of a unit, else "float"."""
        return self._sums.arithmetic

    @property
    def hessian_edge(self) -> float:
        """float : where the eigenvalues of the noise on the last Hessian end; public."""
        return self._hessian_std * math.sqrt(2.0 * self._sums.model.dimension)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the noisy mean gradient at the public point `theta`, float64, like it."""
        mu, sums = self._price(), self._sums
        unit, moved, event = sums.resolution, REPLACE_ONE * sums.clip_norm, gaussian(mu)
        if unit is not None and not derived_scale(event, moved) <= _MOST_UNITS * unit:
            # Doubles do not fill the grid of the least noise that far out.
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
        # Where rounding is priced the noise is larger.
        self._hessian_std = known.noise(event).scale / sums.n_samples
        self.answer = self._session(
            event, lambda batch: _symmetric(sums.curvature(theta, clip)), known,
            divisor=sums.n_samples)
        return self.answer

    def _price(self) -> float:
        """Return what the next answer costs; a RuntimeError where none is left."""
        mu = next(self._prices, None)
        if mu is None:
            raise RuntimeError("Every answer of the declared plan is used up; a solver may only "
                               "ask for what its queries() declare.")
        return mu


def _symmetric(matrix: FloatArray) -> FloatArray:
    """Return the mean of a matrix and its transpose.

    Rounding in a product leaves a difference between the two, which symmetric noise does not hide.
    """
    return 0.5 * (matrix + matrix.T)

r"""Noisy moments of transitions for least-squares temporal differences, in one query.

A transition has features ``f`` of a state and ``h`` of the next state (0 after the end), both of
norm at most 1, and a reward r in [-1, 1]. The sums ``C = sum f f'``, ``X = sum f h'`` and
``b = sum r f`` are released together, with noise of standard deviations s, s and ``2 s``. Divide
each sum by the scale of its noise. Let g be the features of the new transition, ``t = |f . g|``.
Replacing a transition moves the three sums by a squared distance, in units of s, of at most

    ``|f|^4 + |g|^4 - 2 t^2  +  (1 + 1/4) (|f|^2 + |g|^2 + 2 t)``

because next features and rewards may have any direction and sign. The bound grows with both
norms. At norms of 1 it is ``2 - 2 t^2 + 2.5 (1 + t)``, largest at ``t = 5/8``. A symmetric matrix
with noise of standard deviation s on the diagonal and ``s / sqrt(2)`` off it is a Gaussian
mechanism with noise s in the Frobenius norm.

For groups, the three sums of a group, in the same units, are one vector, scaled down to a maximal
norm. Replacing a group moves the total by at most twice that norm. In integer units of a public
grid all sums are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._models.clipping import HEADROOM
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.noise.grids import exact_bits
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle, Queries

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["TransitionMoments", "TransitionMomentsOracle"]

#: The ratio of the noise on b to the noise on the two matrices.
_REWARD_NOISE = 2.0
#: How far replacing one transition moves the sums, in units of s (the maximum above).
_MOVED = math.sqrt(2.0 + 2.5 + 1.25**2 / 2.0)
#: The norm of one transition's sums, in units of s.
_ONE = math.sqrt(2.25)


@dataclass(frozen=True)
class TransitionMoments(Queries):
    """One query for the moments of linear features of transitions.

    The noise multiplier is twice the noise over the sensitivity to one transition or group.

    Parameters
    ----------
    group_clip : float or None
        For groups of transitions: the clip norm of a group's contribution, divided by the largest
        norm of one transition's contribution. None without groups.
    """

    group_clip: float | None

    def event(self, noise_multiplier: float) -> Elementary:
        """Return the privacy cost of the moments."""
        return FullBatch().release(noise_multiplier)

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> TransitionMomentsOracle:
        """Return the oracle over transitions."""
        problem, rows = data
        return TransitionMomentsOracle(problem, rows, self, noise_multiplier, session)


class TransitionMomentsOracle(Oracle):
    """Answer once with ``C``, ``X`` and ``b`` of linear features."""

    arithmetic = "grid"

    def __init__(self, problem: Any, rows: RowSource, asked: TransitionMoments,
                 noise_multiplier: float, session: Session) -> None:
        self._model, self._rows, self._session = problem.model, rows, session
        self.gamma = problem.loss.gamma
        clip: Any = asked.group_clip
        self._event = asked.event(noise_multiplier)
        self._groups: Any = None if rows.groups is None else rows.groups.members()
        self._n_units = problem.n_samples
        #: The norm of a group's sums, in units of s.
        self._radius = clip * _ONE if self._groups is not None else math.inf
        self._most = _MOVED if self._groups is None else REPLACE_ONE * self._radius

    @property
    def n_units(self) -> int | None:
        """int or None : the public number of transitions; None with groups."""
        return self._n_units if self._groups is None else None

    @property
    def constant(self) -> float:
        """float : the constant last feature."""
        return self._model.constant

    @property
    def noise_std(self) -> float:
        """float : standard deviation of the noise on a diagonal entry of C."""
        return derived_scale(self._event, self._moved(self._unit()))

    def moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the noisy sums ``C`` (p, p), symmetric, ``X`` (p, p) and ``b`` (p,)."""
        unit, size = self._unit(), self._model.dimension
        square, moved = unit**2 if unit else None, self._moved(unit)

        def summed(batch: Batch) -> tuple[FloatArray, FloatArray, FloatArray]:
            sums = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
            add = self._add_rows if self._groups is None else self._add_groups
            add(unit, sums)
            return sums

        both, crossed, rewarded = self._session(
            self._event, summed, Sensitivity(moved, "symmetric_normal", square),
            Sensitivity(moved, unit=square), Sensitivity(_REWARD_NOISE * moved, unit=square))
        return both, crossed, rewarded

    def _add_rows(self, unit: Any, sums: Any) -> None:
        """Add products of features and rewards in integer units, so that sums are exact."""
        for part in row_blocks(len(self._rows), 3 * self._model.dimension):
            now, later, rewards = (_whole(entry, unit) for entry in self._entering(part))
            products = now.T @ now, now.T @ later, now.T @ rewards
            for total, product in zip(sums, products, strict=True):
                total += product

    def _add_groups(self, unit: Any, sums: Any) -> None:
        """Add the sums of every group, clipped in norm, then truncated to integer units."""
        for indices in self._groups:
            now, later, rewards = self._entering(indices)
            own = now.T @ now, now.T @ later, now.T @ rewards
            squares = [np.vdot(part, part) for part in own]
            norm = math.sqrt(squares[0] + squares[1] + squares[2] / _REWARD_NOISE**2)
            factor = min(1.0, self._radius * HEADROOM / norm) if norm else 1.0
            for total, part in zip(sums, own, strict=True):
                total += _whole(factor * part, unit and unit**2)

    def _entering(self, part: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return features, next features and rewards of some transitions."""
        block, width = self._rows.take(part), self._model.n_features
        alive = block.y[:, 1:2]
        return (self._model.features(block.X[:, :width]),
                self._model.features(block.X[:, width:]) * alive, block.y[:, 0])

    def _unit(self) -> float | None:
        """Return the grid spacing of features and rewards, a power of two; None without noise."""
        noise = _REWARD_NOISE * derived_scale(self._event, self._most)
        if not noise:
            return None
        largest = self._n_units * max(1.0, 0.5 * _REWARD_NOISE * self._most)
        return 2.0 ** -(exact_bits(largest, noise) // 2)

    def _moved(self, unit: Any) -> float:
        """Return how far replacing one transition or group moves the sums, in units of s."""
        if self._groups is None or unit is None:
            return self._most
        # The truncation of unchanged groups may differ by one spacing with their memory layout.
        size = self._model.dimension
        return self._most + 2.0 * self._n_units * unit**2 * math.sqrt(2.0 * size**2 + size)


def _whole(array: FloatArray, unit: float) -> FloatArray:
    """Return an array truncated toward zero to multiples of `unit`, unchanged if it is None."""
    return array if unit is None else np.trunc(array / unit) * unit

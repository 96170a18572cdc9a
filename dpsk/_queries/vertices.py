r"""The best vertex of an l1 ball, chosen under noise.

At a public point the vertex ``s e_j`` has the score ``-s g_j`` with g the sum of the rows'
gradients, every entry of which is clipped to ``[-C, C]`` by one factor a row. Replacing a row
moves each score by at most ``2 C``. The largest of the scores with Gumbel noise of scale
``4 C / e`` is the exponential mechanism at e: its loss lies in an interval of length e that
contains 0, so it never exceeds e, and the choice is also mu-GDP for the mu of
`bounded_range_mu`. Only the vertex leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.plans import ExponentialChoices
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import Oracle, Queries, row_sums
from dpsk._sums.linear_sums import max_norm_sums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Event
    from dpsk._problem import Problem
    from dpsk._typing import FloatArray

__all__ = ["SelectionOracle", "Vertices"]


@dataclass(frozen=True)
class Vertices(Queries):
    """Choices of a vertex of the l1 ball.

    The noise multiplier is the scale of the Gumbel noise on a score over the clip norm.

    Parameters
    ----------
    answers : ExponentialChoices
    clip_norm : float
        C, of the largest entry of a row's gradient.
    """

    answers: ExponentialChoices
    clip_norm: float

    penalizes_intercept: ClassVar[bool] = True

    def event(self, noise_multiplier: float) -> Event:
        """Return what all choices cost."""
        return self.answers(noise_multiplier)

    def run(self, data: tuple[Problem, RowSource], session: Session,
            noise_multiplier: float) -> SelectionOracle:
        """Return the oracle over rows."""
        return SelectionOracle(row_sums(max_norm_sums, data, self.clip_norm), self.answers,
                               noise_multiplier, session)


class SelectionOracle(Oracle):
    """Answer with a vertex of the l1 ball; z C is the scale of the Gumbel noise on a score."""

    def __init__(self, sums: Any, answers: ExponentialChoices, noise_multiplier: float,
                 session: Session) -> None:
        self._sums, self._session = sums, session
        self._event = answers.release(noise_multiplier)
        # Every score may rise or fall by as much as replacing a row moves an entry.
        self._moved = Sensitivity(2.0 * REPLACE_ONE * sums.clip_norm, "gumbel",
                                  terms=sums.rounding_terms(sums.n_samples),
                                  size=2 * sums.model.dimension, rounded=False)

    def descent_vertex(self, theta: FloatArray) -> tuple[int, float]:
        """Return the vertex along which the loss falls fastest at the public `theta`, under noise.

        As its place, an index into the flattened theta, and its sign, 1.0 or -1.0.
        """
        def scores(batch: Batch) -> FloatArray:
            slopes = self._sums.gradient(theta).ravel()
            return np.stack([-slopes, slopes])

        best = self._session(self._event, scores, self._moved, select=np.argmax)
        sign, place = divmod(int(best), theta.size)
        return place, 1.0 - 2.0 * sign

r"""Private selection of the best vertex of an l1 ball.

At a public point, the vertex ``s e_j`` has the score ``-s g_j``, where g is the sum of the rows'
gradients. One factor per row scales its gradient so that every entry lies in ``[-C, C]``.
Replacing a row moves each score by at most ``2 C``. The largest score with Gumbel noise of scale
``4 C / e`` is the exponential mechanism at e. Its privacy loss lies in an interval of length e
that contains 0, so it never exceeds e. The choice is also mu-GDP for the mu of
`bounded_range_mu`. Only the vertex is released.
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
    """Private selections of a vertex of the l1 ball.

    The noise multiplier is the scale of the Gumbel noise on a score over the clip norm.

    Parameters
    ----------
    answers : ExponentialChoices
    clip_norm : float
        C, the bound on the largest absolute entry of a row's gradient.
    """

    answers: ExponentialChoices
    clip_norm: float

    penalizes_intercept: ClassVar[bool] = True

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost of all choices."""
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
        # Scores may move in opposite directions, so their gaps move by twice 2 C.
        self._moved = Sensitivity(2.0 * REPLACE_ONE * sums.clip_norm, "gumbel",
                                  terms=sums.rounding_terms(sums.n_samples),
                                  size=2 * sums.model.dimension, rounded=False)

    def descent_vertex(self, theta: FloatArray) -> tuple[int, float]:
        """Return the noisily selected vertex of steepest descent at the public `theta`.

        The result is an index into the flattened theta and a sign, 1.0 or -1.0.
        """
        def scores(batch: Batch) -> FloatArray:
            slopes = self._sums.gradient(theta).ravel()
            return np.stack([-slopes, slopes])

        best = self._session(self._event, scores, self._moved, select=np.argmax)
        sign, place = divmod(int(best), theta.size)
        return place, 1.0 - 2.0 * sign

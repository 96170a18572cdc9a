r"""The best vertex of an l1 ball, chosen under noise.

At a public point the vertex ``s e_j`` has the score ``-s g_j`` with g the sum of the rows'
gradients, every entry of which is clipped to ``[-C, C]`` by one factor a row. Replacing a row
moves each score by at most ``2 C``. The largest of the scores with Gumbel noise of scale
``4 C / e`` is the exponential mechanism at e: its loss lies in an interval of length e that
contains 0, so it never exceeds e, and the choice is also mu-GDP for the mu of
`bounded_range_mu`. Only the vertex leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.sensitivity import REPLACE_ONE
from dpsk._queries.base import SumsOracle
from dpsk._sums.linear_sums import max_norm_sums

if TYPE_CHECKING:
    from typing import Any

    from dpsk._mechanism.session import Batch, Session
    from dpsk._typing import FloatArray

__all__ = ["SelectionOracle"]


class SelectionOracle(SumsOracle):
    """Answer with a vertex of the l1 ball; z C is the scale of the Gumbel noise on a score."""

    sums_class = max_norm_sums
    penalizes_intercept = True

    def __init__(self, sums: Any, declared: Any, noise_multiplier: float,
                 session: Session) -> None:
        self._sums, self._session = sums, session
        self._event = declared.release(noise_multiplier)
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

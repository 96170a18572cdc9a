r"""The best vertex of an l1 ball, chosen under noise.

At a public point the vertex ``s e_j`` has the score ``-s g_j`` with g the sum of the rows'
gradients, every entry of which is clipped to ``[-C, C]`` by one factor a row. Replacing a row
moves each score by at most ``2 C``. The largest of the scores with Gumbel noise of scale
``4 C / e`` is the exponential mechanism at e: its loss lies in an interval of length e that
contains 0, so it never exceeds e, and the choice is also mu-GDP for the mu of
`bounded_range_mu`. Only the vertex leaves.
"""


import numpy as np

from dpsk._models.linear import HEADROOM
from dpsk._oracle.row_sums import RowSums
from dpsk._privacy.noise import samplers

__all__ = ["MaxNormSums", "SelectionOracle"]


class MaxNormSums(RowSums):
    """Row sums of gradients whose largest absolute entry is at most `clip_norm`."""

    @property
    def clips(self):
        """bool : whether the clip may change a gradient, by what loss and model imply."""
        implied = self._weight_bound * self.loss.lipschitz * self.model.coordinate_bound
        return self.clip_norm * HEADROOM < implied

    def _enter(self, rows):
        scale, _ = self.model.row_scales(rows.X)
        return scale, self.model.row_maxima(rows.X, scale)

    def _lengths(self, dz):
        return np.abs(dz).max(axis=1)


class SelectionOracle:
    """Answer with a vertex of the l1 ball.

    Parameters
    ----------
    sums : MaxNormSums
        Holds the rows and clips at `C`.
    declared : Selections
    noise_multiplier : float
        `z`, the scale of the Gumbel noise on a score over `C`.
    stream : EntropyStream or KeyedStream
    ledger : Ledger
    """

    arithmetic = "float"

    @classmethod
    def open(cls, problem, declared, clip_norm, rows, noise_multiplier, stream, ledger):
        """Return an oracle over `rows`; parameters as for `GradientOracle.open`."""
        sums = MaxNormSums(problem.model, problem.loss, rows, clip_norm)
        return cls(sums, declared, noise_multiplier, stream, ledger)

    def __init__(self, sums, declared, noise_multiplier, stream, ledger):
        self._sums = sums
        self._event = declared.release(noise_multiplier)
        self._noise_scale = noise_multiplier * sums.clip_norm * sums.rounding
        self._stream, self._ledger = stream, ledger

    def descent_vertex(self, theta):
        """Return the vertex along which the loss falls fastest at `theta`, under noise.

        Parameters
        ----------
        theta : ndarray of float64
            Public.

        Returns
        -------
        place : int
            Index into the flattened theta.
        sign : float
            1.0 or -1.0.

        Raises
        ------
        RuntimeError
            If more answers are asked for than were declared.
        """
        self._ledger.charge(self._event)
        slopes = self._sums.gradient(theta).ravel()
        scores = samplers.gumbel_noise(self._stream, (2, slopes.size), self._noise_scale)
        scores[0] -= slopes
        scores[1] += slopes
        sign, place = divmod(int(np.argmax(scores)), slopes.size)
        return place, 1.0 - 2.0 * sign

r"""One quantile of numbers, chosen under noise from a public grid.

With k the rank ``round(q n)`` a point z of the grid has the score

    u(z) = -max(0, #{x < z} - k, k - #{x <= z}),

0 at the k-th smallest number and everywhere up to the next, and less by 1 with every number that
lies between. Replacing a number moves each of the two counts by at most 1, hence each score by
at most 1. The largest of the scores with Gumbel noise of scale ``z / 2``, z the noise multiplier,
is the exponential mechanism with exponent ``2 / z``: its loss lies in an interval of length
``4 / z``, as that of a vertex chosen with scores that move by 2 clip norms. Only the point leaves.

Numbers are brought to the grid first, each by itself, so that one on which many of them stand is
a point like any other. Every point gets its noise: how much is drawn tells nothing of the rows.
"""

import numpy as np

from dpsk._oracle.release import Part

__all__ = ["noisy_quantile", "positive_grid", "real_grid"]

#: Rows whose numbers are taken at once.
_PART = 1 << 16
#: Least and largest point of the positive grid, as powers of two, and points to an octave.
_LEAST, _MOST, _OCTAVE = -32, 40, 64
#: Unit and end of the grid of both signs, and its points of one sign.
_UNIT, _END, _SIDE = 1e-3, 1e12, 1 << 13


def positive_grid():
    """Return public points from 2^-32 to 2^40, each about 1.1 % above the one before."""
    return 2.0 ** (np.arange(_LEAST * _OCTAVE, _MOST * _OCTAVE + 1) / _OCTAVE)


def real_grid():
    """Return public points in [-1e12, 1e12], 0 among them, evenly spaced in ``asinh(1000 z)``.

    Beside 0 they are 4e-6 apart, far from it 0.4 %.
    """
    side = _UNIT * np.sinh(np.arange(1, _SIDE + 1) * (np.arcsinh(_END / _UNIT) / _SIDE))
    return np.concatenate([-side[::-1], [0.0], side])


def noisy_quantile(rows, numbers, q, grid, declared, noise_multiplier, releases, upward=True):
    """Return a point of a public grid near the quantile of numbers, a float.

    Parameters
    ----------
    rows : RowSource
    numbers : callable, (RowSource, slice) -> ndarray
        The number of every row of a part, sensitive; asked for once, inside of the release.
    q : float
        In [0, 1].
    grid : ndarray
        Increasing.
    declared : Selections
    noise_multiplier : float
        Twice the scale of the Gumbel noise on a score.
    releases : Releases
    upward : bool
        Whether numbers between two points count as the one above, else as the one below. Beyond
        the ends they count as those.
    """
    rank = round(q * len(rows))

    def scores(inside):
        counts = rows.added(_counts, numbers, grid, upward)
        up_to = np.cumsum(counts)
        return -np.maximum(0, np.maximum(up_to - counts - rank, rank - up_to)).astype(np.float64)

    # Scores are whole numbers, so nothing is rounded.
    part = Part(noise_multiplier, 0.5, "gumbel", unit=1.0, rounded=False)
    chosen = releases(declared.release(noise_multiplier), scores, part, only=np.argmax)
    return float(grid[chosen])


def _counts(rows, numbers, grid, upward):
    """Return how many numbers each point of the grid stands for."""
    up_to = np.zeros(len(grid), np.int64)
    for part in rows.blocks(_PART):
        # Sorted, points are found among numbers, of which there are more.
        own = np.sort(numbers(rows, part))
        up_to[:-1] += (np.searchsorted(own, grid[:-1], "right") if upward
                       else np.searchsorted(own, grid[1:], "left"))
        up_to[-1] += len(own)
    return np.diff(up_to, prepend=0)

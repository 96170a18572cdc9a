r"""Octaves of the columns of a table, by private choices.

Rows are paired publicly. The absolute difference of the two entries of a pair does not depend on
where a column lies. It lies in an octave ``[2^(e-1), 2^e)``, or it is nearly 0. For each column
the octave of a high quantile of these differences is chosen. With a public number k of pairs
beyond the quantile, the octave e has the score

    min(pairs in e or above, near pairs, 2 k - pairs above e),

where a pair in e is near, one in the next octave on either side by 3/4, and so on. The score is at
least k at the quantile, 0 where there are no near pairs, and less where more than 2 k pairs are
above. One more candidate stands for no octave. Its score is 2 k minus all pairs that differ.

A replaced row changes one pair. Each of the numbers moves by at most 1, and so does their
minimum. Each choice is then an exponential mechanism, as in `quantiles`.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import block_length
from dpsk._statistics.quantiles import best_point

if TYPE_CHECKING:
    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray, IntArray

__all__ = ["MOST_ROWS", "N_CANDIDATES", "noisy_column_octaves"]

#: Rows that are paired at most, which are read in one place.
MOST_ROWS = 1 << 17

#: Least and largest exponent of an octave, as on the grid of norms. Smaller differences may be
#: rounding errors. The first candidate stands for no octave.
_LEAST, _MOST = -32, 40
N_CANDIDATES = _MOST - _LEAST + 2
_CANDIDATES = np.concatenate([[-np.inf], np.arange(_LEAST, _MOST + 1)])
#: How near a pair is to the octaves about its own.
_NEAR = np.array([0.25, 0.5, 0.75, 1.0, 0.75, 0.5, 0.25])
#: Entries that differ by so many rounding errors of the larger one are nearly equal.
_ERRORS = 16


def noisy_column_octaves(rows: RowSource, tail: float, event: Elementary,
                         session: Session) -> FloatArray:
    """Return the exponent of the octave of large differences in each column, -inf for none.

    Parameters
    ----------
    rows : RowSource
        Dense rows without groups.
    tail : float
        Share of pairs in the octave or above.
    event : Elementary
        Privacy cost of the choice for one column.
    session : Session
    """
    counts = cache(lambda: _counts(rows))

    def scores(column: int, inside: Batch) -> FloatArray:
        own = counts()[column]
        least, octaves = round(tail * int(own.sum())), own[1:]
        from_here = np.cumsum(octaves[::-1])[::-1]
        above = from_here - octaves
        near = np.convolve(octaves, _NEAR, "same")
        found = np.minimum(np.minimum(from_here, near), 2.0 * least - above)
        return np.concatenate([[2.0 * least - from_here[0]], found])

    return np.array([best_point(partial(scores, column), _CANDIDATES, event, session)
                     for column in range(rows.n_features)])


def _counts(rows: RowSource) -> IntArray:
    """Return the number of pairs of each candidate in each column, shape (p, N_CANDIDATES).

    The first row is paired with the first one of the second half, and so on.
    """
    half, width, off = rows.n // 2, rows.n_features, _ERRORS * np.finfo(rows.dtype).eps
    pairs = min(half, MOST_ROWS // 2)
    counts = np.zeros((width, N_CANDIDATES), np.int64)
    first = N_CANDIDATES * np.arange(width)
    length = block_length(width)
    for start in range(0, pairs, length):
        stop = min(start + length, pairs)
        one, other = (rows.features_of(slice(at + start, at + stop)).astype(np.float64)
                      for at in (0, half))
        sizes = np.abs(one - other)
        exponents = np.frexp(np.minimum(sizes, 2.0**(_MOST - 1)))[1]
        places = np.maximum(exponents - _LEAST + 1, 0)
        places[sizes <= off * np.maximum(np.abs(one), np.abs(other))] = 0
        counts += np.bincount((places + first).ravel(),
                              minlength=counts.size).reshape(counts.shape)
    return counts

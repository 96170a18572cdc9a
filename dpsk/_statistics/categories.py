r"""Private selection of frequent categories.

A row has one category in every column. With T columns, replacing a row moves the counts by at
most ``sqrt(2 T)``. The counts of categories that occur get Gaussian noise of scale s. Categories
whose noisy count exceeds

.. math:: \tau = 1 + s\, \Phi^{-1}(1 - \delta_c / T)

are released. If only one row has a category, the count is 1, and the category may be absent from
the neighboring table. The noisy count exceeds the threshold with a probability of at most
:math:`\delta_c / T`, and there are at most T such categories. This is a `Disclosure`. The output
for other categories depends on counts that exist in both tables (Korolova, Kenthapadi, Mishra,
Ntoulas 2009; Wilkins, Kifer, Zhang, Karrer 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from dpsk._mechanism.core import Mechanism, mu_of
from dpsk._mechanism.sensitivity import Sensitivity
from dpsk._privacy.events import Composed, Disclosure, NotPrivate, gaussian
from dpsk._privacy.noise.grids import exact_bits
from dpsk._statistics.tables import shares_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Session
    from dpsk._privacy.elementary import Event
    from dpsk._typing import FloatArray, IntArray

__all__ = ["FrequentCategories", "category_threshold", "count_noise", "noisy_counts"]

#: Counts and their noise are multiples of this.
_UNIT = 2.0**-10


def category_threshold(n_columns: int, mu: float, delta: float) -> float:
    """Return the noisy count above which a category is released; 0 without noise."""
    if mu == math.inf:
        return 0.0
    scale = count_noise(n_columns, mu)
    # Slack for the rounding of the noise and of this formula.
    return 1.0 + scale * float(-ndtri(delta / n_columns)) * (1.0 + 1e-9) + _UNIT


@dataclass(frozen=True)
class FrequentCategories(Mechanism):
    """Selects the frequent categories of some columns.

    Parameters
    ----------
    most : int
        The largest number of categories per column; those with the largest noisy counts are kept.
    delta : float
        The probability of releasing a category that only one row has.
    """

    most: int
    delta: float

    def event(self, noise_multiplier: float) -> Event:
        """Return the privacy cost: a Gaussian event and a `Disclosure`."""
        if not noise_multiplier:
            return NotPrivate()
        return Composed((gaussian(mu_of(noise_multiplier)), Disclosure(self.delta)))

    def run(self, data: tuple[RowSource, Sequence[int], Sequence[int]], session: Session,
            noise_multiplier: float) -> list[tuple[IntArray, FloatArray]]:
        """Return the frequent categories of every column, sorted, with noisy counts.

        Parameters
        ----------
        data : (RowSource, sequence of int, sequence of int)
            Rows, whose features are positions of categories, -1 for none; the columns; and the
            number of categories in each. This number and the categories' positions are sensitive.
        session : Session
        noise_multiplier : float

        Returns
        -------
        found : list of (ndarray of int, ndarray of float64)
            The positions of categories, and their noisy counts.
        """
        (rows, places, sizes), mu = data, mu_of(noise_multiplier)
        threshold = category_threshold(len(places), mu, self.delta)
        ends = np.cumsum(sizes)

        def frequent(noisy: FloatArray) -> list[tuple[IntArray, FloatArray]]:
            found: list[tuple[IntArray, FloatArray]] = []
            for counts in np.split(noisy, ends[:-1]):
                kept = np.flatnonzero(counts > threshold)
                order = np.argsort(-counts[kept], kind="stable")[:self.most]
                kept = np.sort(kept[order])
                found.append((kept, counts[kept]))
            return found

        return session(gaussian(mu), lambda batch: rows.added(_counts, places, sizes),
                       Sensitivity(math.sqrt(2.0 * len(places)), unit=_UNIT),
                       also=(Disclosure(self.delta),) if noise_multiplier else (),
                       select=frequent)


def noisy_counts(rows: RowSource, columns: dict[Any, Any], mu: float, session: Session, *,
                 n_parts: int | None = None) -> dict[int, FloatArray]:
    """Return noisy counts of rows by cell in some columns, with noise `count_noise`.

    With `n_parts`, the cells of a column are pairs of a part and a cell. A row is in at most one
    of them, so replacing it moves at most two counts of a column, however many parts there are.
    The shares of a group sum to at most 1 over all pairs. So the sensitivity is the same.

    Parameters
    ----------
    rows : RowSource
        In a group, every row counts for its share of the group. With `n_parts`, targets are the
        indices of the rows' parts, -1 for none.
    columns : dict
        From column indices to public facts: the number of categories, whose positions are in the
        rows, -1 for none; or increasing points that divide numbers into cells.
    mu : float
        Privacy cost of the query.
    session : Session
    n_parts : int or None

    Returns
    -------
    counts : dict of ndarray of float64
        From column indices to the noisy counts, shape (n_cells,) or (n_parts, n_cells).
    """
    sizes = [cells if isinstance(cells, int) else len(cells) + 1 for cells in columns.values()]
    moved, unit = math.sqrt(2.0 * len(columns)), _UNIT
    if rows.groups is not None:
        # Shares move no more than rows (see `tables`), and shares of large groups are small.
        unit = min(unit, 2.0 ** -exact_bits(rows.n_units, moved / mu))
    counts = session(
        gaussian(mu), lambda batch: rows.added(_counts, list(columns), sizes, columns, unit,
                                               n_parts), Sensitivity(moved, unit=unit))
    shape = () if n_parts is None else (n_parts,)
    ends = np.cumsum(sizes)[:-1] * (n_parts or 1)
    return {place: own.reshape(*shape, -1) for place, own in
            zip(columns, np.split(counts, ends), strict=True)}


def count_noise(n_columns: int, mu: float) -> float:
    """Return the standard deviation of the noise on the counts of `n_columns` columns."""
    return math.sqrt(2.0 * n_columns) / mu


def _counts(rows: RowSource, places: Sequence[int], sizes: Sequence[int],
            points: Any = None, unit: float = _UNIT, n_parts: int | None = None) -> FloatArray:
    """Return the counts of all categories of all columns, part by part, float64."""
    taken = rows.take(slice(0, len(rows)))
    # Sample weights are ignored: without groups, every row counts as one.
    shares = None if rows.groups is None else shares_of(taken, unit)
    block, counts = taken.X, []
    for place, size in zip(places, sizes, strict=True):
        codes = block[:, place]
        if points is not None and not isinstance(points[place], int):
            codes = np.where(np.isnan(codes), -1, np.searchsorted(points[place], codes, "right"))
        inside = codes >= 0
        if n_parts is not None:
            inside &= taken.y >= 0
            codes, size = size * taken.y + codes, size * n_parts
        counts.append(np.bincount(codes[inside].astype(np.intp),
                                  None if shares is None else shares[inside], size))
    return np.concatenate(counts).astype(np.float64)

r"""Categories that occur often, found under noise.

A row stands in one category of every column. With T columns replacing it moves the counts by at
most ``sqrt(2 T)``. The counts of categories that occur get Gaussian noise of scale s, and those
beyond

.. math:: \tau = 1 + s\, \Phi^{-1}(1 - \delta_c / T)

leave. A category that no other row has counts 1 or, on the neighboring table, does not occur at
all: it is beyond with a probability of at most :math:`\delta_c / T`, and there are at most T of
them. That is a `Disclosure`. What leaves of all others follows from counts that both tables have
(Korolova, Kenthapadi, Mishra, Ntoulas 2009; Wilkins, Kifer, Zhang, Karrer 2024).
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
    """Return the noisy count beyond which categories leave; 0 without noise."""
    if mu == math.inf:
        return 0.0
    scale = count_noise(n_columns, mu)
    # Noise is rounded, and so is what is computed here.
    return 1.0 + scale * float(-ndtri(delta / n_columns)) * (1.0 + 1e-9) + _UNIT


@dataclass(frozen=True)
class FrequentCategories(Mechanism):
    """The frequent categories of some columns.

    Parameters
    ----------
    most : int
        Of a column no more leave: those of the largest noisy counts.
    delta : float
        The chance to show a category that a single row brought.
    """

    most: int
    delta: float

    def event(self, noise_multiplier: float) -> Event:
        """Return what it costs: a mu, and the chance."""
        if not noise_multiplier:
            return NotPrivate()
        return Composed((gaussian(mu_of(noise_multiplier)), Disclosure(self.delta)))

    def run(self, data: tuple[RowSource, Sequence[int], Sequence[int]], session: Session,
            noise_multiplier: float) -> list[tuple[IntArray, FloatArray]]:
        """Return the positions of the categories of every column, in their order, and counts.

        Parameters
        ----------
        data : (RowSource, sequence of int, sequence of int)
            Rows, whose features are positions of categories, -1 for none; the columns; and how
            many categories occur in each, which is sensitive, as is which position is which.
        session : Session
        noise_multiplier : float

        Returns
        -------
        found : list of (ndarray of int, ndarray of float64)
            The positions, and their noisy counts.
        """
        (rows, places, sizes), mu = data, mu_of(noise_multiplier)
        threshold = category_threshold(len(places), mu, self.delta)
        ends = np.cumsum(sizes)

        def frequent(noisy: FloatArray) -> list[tuple[IntArray, FloatArray]]:
            found: list[tuple[IntArray, FloatArray]] = []
            for counts in np.split(noisy, ends[:-1]):
                order = np.argsort(-counts, kind="stable")[:self.most]
                kept = np.sort(order[counts[order] > threshold])
                found.append((kept, counts[kept]))
            return found

        return session(gaussian(mu), lambda batch: rows.added(_counts, places, sizes),
                       Sensitivity(math.sqrt(2.0 * len(places)), unit=_UNIT),
                       also=(Disclosure(self.delta),) if noise_multiplier else (),
                       select=frequent)


def noisy_counts(rows: RowSource, columns: dict[Any, Any], mu: float,
                 session: Session) -> dict[int, FloatArray]:
    """Return how many rows are in every cell of some columns, under noise of scale `count_noise`.

    Parameters
    ----------
    rows : RowSource
        Of rows in groups each counts for its share of its group.
    columns : dict
        From the places of columns to what is public of them: the number of categories, whose
        positions are in the rows, -1 for none; or points between numbers, increasing.
    mu : float
        What the answer costs.
    session : Session

    Returns
    -------
    counts : dict of ndarray of float64
        By the same places.
    """
    sizes = [cells if isinstance(cells, int) else len(cells) + 1 for cells in columns.values()]
    moved, unit = math.sqrt(2.0 * len(columns)), _UNIT
    if rows.groups is not None:
        # As tables of shares, by the proof in `tables`; those of large groups are fine.
        unit = min(unit, 2.0 ** -exact_bits(rows.n_units, moved / mu))
    counts = session(
        gaussian(mu), lambda batch: rows.added(_counts, list(columns), sizes, columns, unit),
        Sensitivity(moved, unit=unit))
    return dict(zip(columns, np.split(counts, np.cumsum(sizes)[:-1]), strict=True))


def count_noise(n_columns: int, mu: float) -> float:
    """Return the standard deviation of noise on counts of so many columns."""
    return math.sqrt(2.0 * n_columns) / mu


def _counts(rows: RowSource, places: Sequence[int], sizes: Sequence[int],
            points: Any = None, unit: float = _UNIT) -> FloatArray:
    """Return the counts of all categories of all columns, float64."""
    taken = rows.take(slice(0, len(rows)))
    # Rows of a weight of their own count as one.
    shares = None if rows.groups is None else shares_of(taken, unit)
    block, counts = taken.X, []
    for place, size in zip(places, sizes, strict=True):
        codes = block[:, place]
        if points is not None and not isinstance(points[place], int):
            codes = np.where(np.isnan(codes), -1, np.searchsorted(points[place], codes, "right"))
        inside = codes >= 0
        counts.append(np.bincount(codes[inside].astype(np.intp),
                                  None if shares is None else shares[inside], size))
    return np.concatenate(counts).astype(np.float64)

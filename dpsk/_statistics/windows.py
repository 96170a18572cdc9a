r"""Private window of most numbers, of any magnitude and far from 0, for few rows.

**Width.** Let C(w) be the largest count of numbers in a window of width w, and M(w) the largest
count without the window's most frequent number. A width has the score ``-max(0, q n - M(w),
C(w / 2) - p n)`` with p slightly above q. It is 0 for the least power of two whose window holds
the fraction q. Adding a number changes the count of a window by 0 or 1, with or without its most
frequent number. A window that starts at the new number holds at most one more than a window that
starts at the next larger number. Therefore C and M, and every score, move by at most 1 when a
number is replaced. The least width stands for numbers that are mostly equal: its score is
``-max(0, r n - h)``, where h is the count of the most frequent number.

**Place.** First a zone is selected by its count: an interval about 0, or one octave of either
sign. Then a cell of the zone is selected in the same way; cells are about as wide as the released
width. Each count is that of two neighboring zones or cells, so that no border splits the numbers.
Replacing a number moves every count by at most 1.

Each selection adds Gumbel noise and costs as much as a quantile. A public penalty in whole counts
makes extreme widths and zones less likely. All scores are integers, hence exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._mechanism.sensitivity import derived_scale
from dpsk._statistics.quantiles import best_point, positive_grid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray, IntArray

__all__ = ["noisy_place", "noisy_window"]

#: Rows whose numbers are read at once; points of the positive grid per octave.
_PART, _OCTAVE = 1 << 16, 64
#: Octaves of either sign, and the largest number of cells of a zone, as powers of two: usually,
#: and for equal numbers, whose width does not tell the size of cells.
_ZONES, _MOST_HALVINGS, _HALVINGS_OF_EQUAL = 72, 19, 10
#: Fraction that a window should hold, largest fraction that a window of half the width should
#: hold, and fraction of equal numbers that stands for the least width.
_HELD, _HELD_BY_HALF, _EQUAL = 0.45, 0.5, 0.85
#: Decrease of the log-probability of a width and of a zone per octave of distance from 1, times
#: that by which all numbers raise a score: the less can be told, the more a usual unit counts.
_PER_OCTAVE = (6.0, 3.0)


def noisy_window(rows: RowSource, numbers: Callable[..., FloatArray],
                 events: Sequence[Elementary], session: Session) -> tuple[float, float]:
    """Return the ends of a private window that holds most numbers, two floats.

    Parameters
    ----------
    rows, numbers, session
        As for `noisy_quantile`; no number is missing.
    events : sequence of Event
        Privacy costs of the selections of width, zone and cell.
    """
    of_width, *of_place = events
    width = _noisy_width(rows, numbers, of_width, session)
    return noisy_place(rows, numbers, width, of_place, session)


def noisy_place(rows: RowSource, numbers: Callable[..., FloatArray], width: float,
                events: Sequence[Elementary], session: Session) -> tuple[float, float]:
    """Return the ends of the window, given its width and the costs of zone and cell."""
    of_zone, of_cell = events
    zones, off = np.arange(-_ZONES, _ZONES + 1.0), math.log2(width)
    unlikely = _unlikely(np.minimum(np.abs(zones), np.abs(np.abs(zones) + off)), rows.n_units,
                         _PER_OCTAVE[1], of_zone)
    zone = best_point(lambda inside: _paired(rows.added(_in_zones, numbers, width)) - unlikely,
                      zones, of_zone, session)
    low, high = _start(zone, width), _start(zone + 2.0, width)
    most = _HALVINGS_OF_EQUAL if width == positive_grid()[0] else _MOST_HALVINGS
    n_cells = 2 ** int(min(max(math.log2((high - low) / width), 1.0), most))
    size = (high - low) / n_cells
    cell = best_point(lambda inside: _paired(
        rows.added(_in_cells, numbers, low, size, n_cells))[:-1],
                      low + size * np.arange(n_cells - 1), of_cell, session)
    return cell, cell + 2.0 * size


def _noisy_width(rows: RowSource, numbers: Callable[..., FloatArray], event: Elementary,
                 session: Session) -> float:
    """Return a power of two near the least width of a window with the wanted fraction."""
    widths = positive_grid()[::_OCTAVE]
    unlikely = _unlikely(np.log2(widths), rows.n_units, _PER_OCTAVE[0], event)

    def scores(inside: Batch) -> FloatArray:
        found, counts = np.unique(np.concatenate(rows.each(_gathered, numbers)),
                                  return_counts=True)
        total = counts.sum()
        held, varied = np.transpose([_most_within(found, counts, width) for width in widths])
        off = np.maximum(round(_HELD * total) - varied[1:],
                         held[:-1] - round(_HELD_BY_HALF * total))
        off = np.append(round(_EQUAL * total) - counts.max(), off)
        return -np.maximum(0.0, off) - unlikely

    return best_point(scores, widths, event, session)


def _unlikely(octaves: FloatArray, n_units: int, rate: float, event: Elementary) -> FloatArray:
    """Return the penalty on scores of points so many octaves from 1, in whole counts."""
    scale = derived_scale(event, 2.0, "gumbel")
    return np.round(rate * np.abs(octaves) * scale**2 / n_units)


def _paired(counts: FloatArray) -> FloatArray:
    """Return the sum of each count and the next."""
    return counts + np.append(counts[1:], 0.0)


def _start(zone: float, width: float) -> float:
    """Return the lower end of a zone."""
    return width * (2.0 ** (zone - 1.0) if zone > 0 else -(2.0**-zone))


def _gathered(rows: RowSource, numbers: Callable[..., FloatArray]) -> FloatArray:
    return np.concatenate([numbers(rows, part) for part in rows.shown(_PART)])


def _most_within(found: FloatArray, counts: IntArray, width: float) -> tuple[int, int]:
    """Return C and M of a width for increasing distinct numbers and their counts."""
    first = np.arange(len(found))
    after = np.searchsorted(found, found + width, "right")
    up_to = np.append(0, np.cumsum(counts))
    held, modes = up_to[after] - up_to[first], np.ones_like(counts)
    halvings = np.log2(after - first).astype(int)
    # Largest counts among 1, 2, 4, ... neighbors: two of these cover any window.
    largest = counts
    for power in range(halvings.max() + 1):
        own = halvings == power
        modes[own] = np.maximum(largest[first[own]], largest[after[own] - 2**power])
        largest = np.maximum(largest[:-2**power], largest[2**power:])
    return held.max(), (held - modes).max()


def _in_zones(rows: RowSource, numbers: Callable[..., FloatArray], width: float) -> FloatArray:
    """Return the counts of the zones: octaves below 0, within the width of 0, and above 0."""
    counts = np.zeros(2 * _ZONES + 1)
    for part in rows.shown(_PART):
        own = numbers(rows, part)
        octaves = np.ceil(np.log2(np.maximum(np.abs(own) / width, 1.0))).clip(0, _ZONES)
        counts += np.bincount((np.sign(own) * octaves).astype(int) + _ZONES,
                              minlength=len(counts))
    return counts


def _in_cells(rows: RowSource, numbers: Callable[..., FloatArray], low: float, size: float,
              n_cells: int) -> FloatArray:
    """Return the counts of cells of one size from `low` on."""
    counts = np.zeros(n_cells)
    for part in rows.shown(_PART):
        places = np.floor((numbers(rows, part) - low) / size)
        inside = (places >= 0.0) & (places < n_cells)
        counts += np.bincount(places[inside].astype(int), minlength=n_cells)
    return counts

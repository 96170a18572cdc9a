"""Public cells of a score, fine where scores may crowd, of which bins are made."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit

from dpsk._defaults.evaluation import JOINED, WIDTHS
from dpsk.metrics._scores import SAME

__all__ = ["ScoreCells"]

#: How far probabilities are told apart on the scale of their logit, and how near 0 other scores.
_LOGIT, _SMALL, _LARGE = 18.0, 1e-5, 1e5
#: Numbers that are cells of their own: hundredths of a range, or whole numbers.
_HUNDREDTHS, _WHOLE = np.arange(101), np.arange(-20.0, 21.0)


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Cells of a score: even by half in its place and by half in a logarithm of it.

    Attributes
    ----------
    edges : ndarray of shape (n_cells - 1,)
        Increasing; a score on an edge is in the upper cell.
    exact : ndarray of bool, shape (n_cells,)
        Of cells that hold one number alone: rows there are ties.
    likely : ndarray of shape (n_cells,)
        Shares of rows that are thought likely where nothing is known, as even as public bins are.
    kept : int
        The cell that the threshold is the lower edge of; 0 where that is beyond the range.
    """

    edges: np.ndarray
    exact: np.ndarray
    likely: np.ndarray
    kept: int

    @classmethod
    def of(cls, bins):
        """Return the cells of a ScoreBins, at most ``JOINED**WIDTHS`` of them.

        Those of its range, or of the numbers that scores can be.
        """
        if bins.numbers:
            halves = np.array(bins.numbers) / 2.0
            return cls(halves[1:] + halves[:-1], np.ones(len(halves), bool),
                       np.full(len(halves), 1.0 / len(halves)), 0)
        return _cells(bins.low, bins.high, bins.threshold)


@lru_cache(maxsize=8)
def _cells(low, high, threshold):
    bounded = np.isfinite(low)
    points = low + (high - low) * _HUNDREDTHS / 100.0 if bounded else _WHOLE
    # So that a threshold is where users look for it, to the last bit.
    points[np.isclose(points, threshold, rtol=SAME, atol=0.0)] = threshold
    own = np.unique(np.concatenate([points, np.nextafter(points, np.inf), [threshold]]))
    found = _even(JOINED**WIDTHS - 1 - len(own))
    if bounded:
        found = low + (high - low) * found
    else:
        found = np.concatenate([logit(found[::2]), _signed(len(found) - len(found[::2]))])
    edges = np.unique(np.concatenate([own, found]))
    # The lowest cell is what is at the lower end, and below; the highest at the upper, and above.
    edges = edges[(edges > low) & (edges <= high)]
    # A number is a cell where the next larger one is the next edge.
    exact = np.append(False, np.isin(edges, points) & np.isin(np.append(edges[1:], np.inf), own))
    if bounded:
        exact[0] = exact[-1] = True
    places = np.clip((edges - low) / (high - low), 0.0, 1.0) if bounded else expit(edges)
    likely = np.diff(np.concatenate([[0.0], np.arcsin(np.sqrt(places)), [np.pi / 2.0]]))
    for array in (edges, exact, likely):
        array.flags.writeable = False
    kept = int(np.searchsorted(edges, threshold)) + 1 if threshold in edges else 0
    return ScoreCells(edges, exact, likely, kept)


def _even(count):
    """Return places in (0, 1), rising, even in the mean of the place and of its logit."""
    fine = np.unique(np.concatenate([expit(np.linspace(-_LOGIT, _LOGIT, 4001)),
                                     np.linspace(0.0, 1.0, 4001)[1:-1]]))
    mean = fine + (logit(fine) + _LOGIT) / (2.0 * _LOGIT)
    return np.interp(2.0 * np.arange(1, count + 1) / (count + 1), mean, fine)


def _signed(count):
    """Return numbers of either sign, even in the logarithm of their size."""
    sizes = np.geomspace(_SMALL, _LARGE, count // 2)
    return np.concatenate([-sizes, sizes])

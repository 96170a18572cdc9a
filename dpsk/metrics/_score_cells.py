"""Public cells of a score, fine where many scores may be close; bins are unions of cells."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit

from dpsk._defaults.evaluation import JOINED, WIDTHS
from dpsk.metrics._scores import SAME

__all__ = ["ScoreCells"]

#: Largest logit of the edges between probabilities; range of sizes of edges for other scores.
_LOGIT, _SMALL, _LARGE = 18.0, 1e-5, 1e5
#: Numbers that have a cell each: hundredths of a range, or whole numbers.
_HUNDREDTHS, _WHOLE = np.arange(101), np.arange(-20.0, 21.0)


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Cells of a score, spaced evenly in the mean of the score and of its logit.

    Attributes
    ----------
    edges : ndarray of shape (n_cells - 1,)
        Increasing; a score on an edge is in the upper cell.
    exact : ndarray of bool, shape (n_cells,)
        Whether a cell holds one number only, so that its rows are ties.
    likely : ndarray of shape (n_cells,)
        Prior shares of rows: even on the arcsine scale of public bins.
    kept : int
        The cell whose lower edge is the threshold; 0 if the threshold is outside of the range.
    """

    edges: np.ndarray
    exact: np.ndarray
    likely: np.ndarray
    kept: int

    @classmethod
    def of(cls, bins):
        """Return the cells of a ScoreBins, at most ``JOINED**WIDTHS`` of them.

        They divide its range. If `bins.numbers` lists all possible scores, each has a cell.
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
    # Rounding must not move an edge away from the threshold.
    points[np.isclose(points, threshold, rtol=SAME, atol=0.0)] = threshold
    own = np.unique(np.concatenate([points, np.nextafter(points, np.inf), [threshold]]))
    left = JOINED**WIDTHS - 1 - len(own)
    if bounded:
        found = low + (high - low) * _even(left)
    else:
        # Scores without a range may be probabilities, too.
        part = left // 3
        found = np.concatenate([_even(part), logit(_even(part)), _signed(left - 2 * part)])
    edges = np.unique(np.concatenate([own, found]))
    # The lowest cell ends at the lower end of the range; the highest one starts at the upper end.
    edges = edges[(edges > low) & (edges <= high)]
    # A cell holds one number if the next float is the next edge.
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
    """Return increasing places in (0, 1), even in the mean of the place and its logit."""
    fine = np.unique(np.concatenate([expit(np.linspace(-_LOGIT, _LOGIT, 4001)),
                                     np.linspace(0.0, 1.0, 4001)[1:-1]]))
    mean = fine + (logit(fine) + _LOGIT) / (2.0 * _LOGIT)
    return np.interp(2.0 * np.arange(1, count + 1) / (count + 1), mean, fine)


def _signed(count):
    """Return numbers of both signs, evenly spaced in the logarithm of their size."""
    sizes = np.geomspace(_SMALL, _LARGE, count // 2)
    return np.concatenate([-sizes, sizes])

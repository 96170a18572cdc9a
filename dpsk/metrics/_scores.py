"""Bins of scores, and expected losses in them."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import logit

from dpsk._data.errors import discreetly
from dpsk._parameters import check_integer, check_real

__all__ = ["NO_THRESHOLD", "SAME", "ScoreBins", "codes_of", "expected_log_losses",
           "expected_losses", "log_losses", "require_probabilities"]

_MOST_BINS = 1 << 12
#: Given as a threshold where no metric needs one, so that no bin has to end there.
NO_THRESHOLD = float("-inf")
#: Edges that differ from a threshold by no more than this are that threshold.
SAME = 1e-12
#: Share of the rows of neighboring bins that noise may hide in a bin.
_HIDDEN = 0.02
#: Least share of a bin for a lone cell without a single number to count as crowded.
_MOST_OF_A_BIN = 0.5
#: Number of candidate reaches for the remainder of a log loss.
_REACHES = 17


@dataclass(frozen=True)
class ScoreBins:
    """The bins of a score: edges, ends, and what is known about the scores inside.

    Parameters
    ----------
    inner : tuple of float
        The edges between bins, increasing. A score on an edge is in the upper bin.
    low, high : float
        The outer ends; scores beyond an end are in the outer bin.
    tied, crowded : tuple of float
        Estimated shares of the pairs in each bin: of rows with one number, and of rows in a lone
        cell, whose scores are too close to separate. Empty for public bins.
    places : tuple of float
        Approximate mean score of each bin; empty for public bins.
    declared : float or None
        The requested threshold; None: the middle of the range.
    keeps : bool
        Whether bins that follow the scores have an edge at the threshold.
    within : tuple of ndarray
        Edges of fine cells, and estimated numbers of rows in them; empty for public bins.
    numbers : tuple of float
        All possible scores, increasing; empty if unknown.
    """

    inner: tuple
    low: float
    high: float
    tied: tuple = ()
    crowded: tuple = ()
    places: tuple = ()
    declared: float | None = field(default=None, repr=False)
    keeps: bool = field(default=True, repr=False)
    within: tuple = field(default=(), repr=False, compare=False)
    numbers: tuple = field(default=(), repr=False)

    @classmethod
    def of(cls, bins, score_range, n_bins, threshold=None):
        """Return the requested bins; for "auto" there are `n_bins`.

        Edges are equidistant in ``arcsin(sqrt(p))``, where p is the position of a score in its
        range, or its logistic function. Bins are finer at both ends, where shares of rows are more
        precise. A threshold splits the public bin that contains it.
        """
        low, high = _checked_range(score_range)
        keeps = threshold is not NO_THRESHOLD
        if not keeps:
            threshold = None
        elif threshold is not None:
            threshold = check_real("threshold", threshold, remedy="None, or a finite number")
        follows = isinstance(bins, str) and bins == "auto"
        if follows:
            bins = n_bins
        if isinstance(bins, str) or not hasattr(bins, "__iter__"):
            count = check_integer("bins", bins, low=2, high=_MOST_BINS, remedy=_REMEDY)
            places = np.round(np.sin(np.arange(1, count) * (math.pi / 2.0 / count))**2, 12)
            inner = logit(places) if score_range is None else low + (high - low) * places
            # Rounding must not move the edge in the middle.
            inner[places == 0.5] = cls((), low, high).threshold
        else:
            inner = discreetly("bins", np.asarray, bins, np.float64)
            inside = inner.ndim == 1 and 0 < len(inner) < _MOST_BINS and bool(
                np.all(np.isfinite(inner)) and np.all(np.diff(inner) > 0)
                and low < inner[0] and inner[-1] <= high)
            if not inside:
                raise ValueError(f"bins={bins!r}: must be {_REMEDY}.")
        if threshold is not None and not follows and low < threshold <= high:
            apart = ~np.isclose(inner, threshold, rtol=SAME, atol=0.0)
            inner = np.union1d(inner[apart], [threshold])
        return cls(tuple(inner.tolist()), low, high, declared=threshold, keeps=keeps)

    def following(self, first, rows, cells, alone):
        """Return bins of this range that are unions of cells.

        Parameters
        ----------
        first : ndarray of int
            Index of the first cell of each bin except the lowest, increasing.
        rows : ndarray of shape (n_cells,)
            Estimated number of rows in each cell.
        cells : ScoreCells
        alone : ndarray of bool, shape (n_cells,)
            Cells that hold one number, exactly or approximately.
        """
        starts = np.append(0, first)
        found = np.add.reduceat(rows, starts)
        held = np.maximum(found, 1e-300)
        shares = rows / np.repeat(held, np.diff(starts, append=len(rows)))
        tied = np.add.reduceat(np.where(alone & cells.exact, shares, 0.0)**2, starts)
        crowded = np.maximum.reduceat(np.where(alone & ~cells.exact, shares, 0.0), starts)
        crowded = np.where(crowded > _MOST_OF_A_BIN, crowded**2, 0.0)
        made = replace(self, inner=tuple(cells.edges[first - 1].tolist()),
                       tied=tuple(tied.tolist()), crowded=tuple(crowded.tolist()),
                       within=(cells.edges, rows))
        if not math.isfinite(self.low):
            return made
        ends = np.concatenate([[self.low], cells.edges, [self.high]])
        total = np.add.reduceat(rows * (ends[:-1] + ends[1:]) / 2.0, starts)
        # Rows hidden by noise are more likely near well-filled neighboring bins.
        lower, upper = (_HIDDEN * np.append(part, 0.0) for part in (found[:-1], found[1:]))
        lower = np.roll(lower, 1)
        edges = made.edges
        places = (total + lower * edges[:-1] + upper * edges[1:]) / np.maximum(
            found + lower + upper, 1e-300)
        return replace(made, places=tuple(np.clip(places, edges[:-1], edges[1:]).tolist()))

    @property
    def centers(self):
        """ndarray : approximate mean score of each bin; the midpoint for public bins."""
        edges = self.edges
        return np.array(self.places) if self.places else (edges[:-1] + edges[1:]) / 2.0

    @property
    def of_probabilities(self):
        """bool : whether scores are taken as probabilities."""
        return (self.low, self.high) == (0.0, 1.0)

    def __len__(self):
        return len(self.inner) + 1

    @property
    def edges(self):
        """ndarray : all edges, including the outer ends, shape (n_bins + 1,)."""
        return np.array([self.low, *self.inner, self.high])

    def check_probabilities(self, what):
        """Raise a ValueError unless scores are probabilities, which `what` requires."""
        if not self.of_probabilities:
            raise ValueError(f"score_range=({self.low:g}, {self.high:g}): {what} is one of "
                             "probabilities; evaluate those of predict_proba, whose score_range "
                             "is (0, 1).")

    @property
    def threshold(self):
        """float : decision threshold: the declared one, else the middle of the range."""
        if self.declared is not None:
            return self.declared
        return 0.5 * (self.low + self.high) if math.isfinite(self.low) else 0.0

    def codes(self, scores):
        """Return the bin of every score; NaN is in the lowest bin."""
        return codes_of(scores, self.inner)

    def above(self, threshold):
        """Return least, largest and estimated shares of every bin at or above a threshold.

        In the bin that contains the threshold these are 0, 1, and an estimate from fine cells, or
        from the length of the bin if there are no cells.
        """
        place = int(np.searchsorted(self.inner, threshold, "right"))
        shares = np.tile(np.arange(len(self)) > place, (3, 1)).astype(np.float64)
        left, right = self.edges[place:place + 2]
        if threshold <= left:
            shares[:, place] = 1.0
        elif threshold < right:
            shares[1:, place] = 1.0, self._part(threshold, left, right)
        return shares

    def _part(self, threshold, left, right):
        """Estimate the share of the bin between two edges at or above a threshold."""
        above, whole = _length(threshold, left, right), 1.0
        if self.within:
            edges, rows = self.within
            start, cut, end = np.searchsorted(edges, [left, threshold, right], "right")
            held = rows[start:end if right < self.high else None]
            ends = np.concatenate([[self.low], edges, [self.high]])[cut:cut + 2]
            own = held[cut - start] * _length(threshold, *ends)
            if held.sum() > 0.0:
                above, whole = own + held[cut - start + 1:].sum(), held.sum()
        return above / whole


def _length(threshold, left, right):
    """Return the share of an interval above a point; one half for an infinite interval."""
    inside = math.isfinite(left) and math.isfinite(right)
    return (right - threshold) / (right - left) if inside else 0.5


def codes_of(scores, inner):
    """Return the index of the bin of every score; NaN is in the lowest bin."""
    return np.searchsorted(inner, np.where(np.isnan(scores), -np.inf, scores), "right")


def expected_losses(bins):
    """Return squared losses at the centers of bins, and the largest distance of losses of rows.

    Both arrays have shape (2, n_bins), with labels on the first axis.
    """
    targets = np.array([[0.0], [1.0]])
    expected, ends = (bins.centers - targets)**2, (bins.edges - targets)**2
    return expected, np.maximum(np.abs(ends[:, :-1] - expected), np.abs(ends[:, 1:] - expected))


def expected_log_losses(bins, floor, weight):
    """Return expected log losses by label and bin, and the reach of the remainders.

    No loss is clipped. A larger reach moves noise from the counts to the weighted sum of
    remainders; the choice minimizes the total noise.
    """
    ends = log_losses(np.stack([1.0 - bins.edges, bins.edges]), floor)
    low, high = (each(ends[:, :-1], ends[:, 1:]) for each in (np.minimum, np.maximum))
    least, most = (high - low).max() / 2.0, ends.max() / 2.0
    reach = np.linspace(least, max(most, least), _REACHES)[:, None, None, None]
    middle = np.linspace(0.0, 2.0 * most, _REACHES)[:, None, None]
    found = np.clip(middle, high - reach, low + reach)
    noise = (2.0 * reach[..., 0, 0] / weight)**2 + found[0, 0].size * found.var(axis=(-2, -1))
    place = np.unravel_index(np.argmin(noise), noise.shape)
    return found[place], float(reach[place[0], 0, 0, 0])


def log_losses(probabilities, floor):
    """Return log losses of probabilities, raised to at least `floor`."""
    return -np.log(np.clip(np.nan_to_num(probabilities, nan=0.0), floor, 1.0))


def require_probabilities(what, score_range):
    """Raise a ValueError if `what` requires probabilities and the range is not theirs."""
    ScoreBins.of("auto", score_range, 2).check_probabilities(what)


_REMEDY = ("'auto', an int in [2, 4096], or the increasing edges between bins, inside of "
           "score_range")


def _checked_range(score_range):
    if score_range is None:
        return -math.inf, math.inf
    try:
        low, high = (check_real("score_range", end, low=-1e100, high=1e100, remedy="finite")
                     for end in score_range)
        ordered = high - low >= 1e-100
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise ValueError(f"score_range={score_range!r}: must be two finite numbers low < high, "
                         "such as (0, 1) for probabilities, or None for scores of any size.")
    return low, high

"""Scores to bins with public edges."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from dpsk._data.errors import discreetly
from dpsk._parameters import check_integer, check_real

__all__ = ["ScoreBins", "require_probabilities"]

_MOST_BINS = 1 << 12


@dataclass(frozen=True)
class ScoreBins:
    """The bins of a score, and where they end.

    Parameters
    ----------
    inner : tuple of float
        The edges between bins, increasing. A score on an edge is in the upper bin.
    low, high : float
        The outer ends; scores beyond are in the outer bins.
    """

    inner: tuple
    low: float
    high: float

    @classmethod
    def of(cls, bins, score_range, n_bins):
        """Return the bins that a caller asked for; `n_bins` is the number where he left it.

        Edges are equidistant in ``arcsin(sqrt(p))``, p the place of a score in its range, or its
        logistic map: finer at both ends, where a share of rows is known more precisely.
        """
        low, high = _checked_range(score_range)
        if isinstance(bins, str) and bins == "auto":
            bins = n_bins
        if isinstance(bins, str) or not hasattr(bins, "__iter__"):
            count = check_integer("bins", bins, low=2, high=_MOST_BINS, remedy=_REMEDY)
            places = np.round(np.sin(np.arange(1, count) * (math.pi / 2.0 / count))**2, 12)
            inner = logit(places) if score_range is None else low + (high - low) * places
            # So that the middle is where users look for it, to the last bit.
            inner[places == 0.5] = cls((), low, high).middle
        else:
            inner = discreetly("bins", np.asarray, bins, np.float64)
            inside = inner.ndim == 1 and 0 < len(inner) < _MOST_BINS and bool(
                np.all(np.isfinite(inner)) and np.all(np.diff(inner) > 0)
                and low < inner[0] and inner[-1] < high)
            if not inside:
                raise ValueError(f"bins={bins!r}: must be {_REMEDY}.")
        return cls(tuple(inner.tolist()), low, high)

    def __len__(self):
        return len(self.inner) + 1

    @property
    def edges(self):
        """ndarray : all edges, the outer ones included, shape (n_bins + 1,)."""
        return np.array([self.low, *self.inner, self.high])

    def check_probabilities(self, what):
        """Raise a ValueError unless scores are taken as probabilities, of which `what` is."""
        if (self.low, self.high) != (0.0, 1.0):
            raise ValueError(f"score_range=({self.low:g}, {self.high:g}): {what} is one of "
                             "probabilities; evaluate those of predict_proba, whose score_range "
                             "is (0, 1).")

    @property
    def middle(self):
        """float : what separates the classes where nobody says otherwise."""
        return 0.5 * (self.low + self.high) if math.isfinite(self.low) else 0.0

    def codes(self, scores):
        """Return the bin of every score; what is not a number is in the lowest."""
        return np.searchsorted(self.inner, np.where(np.isnan(scores), -np.inf, scores), "right")

    def above(self, threshold):
        """Return the share of every bin that is at or above a threshold, by length."""
        edges, share = self.edges, np.zeros(len(self))
        place = int(np.searchsorted(self.inner, threshold, "right"))
        share[place + 1:] = 1.0
        left, right = edges[place], edges[place + 1]
        if threshold <= left:
            share[place] = 1.0
        elif threshold < right:
            inside = math.isfinite(left) and math.isfinite(right)
            share[place] = (right - threshold) / (right - left) if inside else 0.5
        return share


def require_probabilities(what, score_range):
    """Raise a ValueError where `what` would for scores of a range, before they are counted."""
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

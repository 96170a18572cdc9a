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

import math

import numpy as np
from scipy.special import ndtri

from dpsk._oracle.release import Part
from dpsk._privacy.events import Composed, Disclosure, NotPrivate, gaussian

__all__ = ["category_event", "category_threshold", "frequent_categories"]

#: Counts and their noise are multiples of this.
_UNIT = 2.0**-10


def category_event(mu, delta):
    """Return what finding categories costs: a `mu`, and a chance `delta` to show a single row's.
    """
    return NotPrivate() if mu == math.inf else Composed((gaussian(mu), Disclosure(delta)))


def category_threshold(n_columns, mu, delta):
    """Return the noisy count beyond which categories leave; 0 without noise."""
    if mu == math.inf:
        return 0.0
    scale = math.sqrt(2.0 * n_columns) / mu
    # Noise is rounded, and so is what is computed here.
    return 1.0 + scale * float(-ndtri(delta / n_columns)) * (1.0 + 1e-9) + _UNIT


def frequent_categories(rows, places, sizes, most, mu, delta, releases):
    """Return for each of some columns the positions of its frequent categories, in their order.

    Parameters
    ----------
    rows : RowSource
        Features are positions of categories, -1 for none.
    places : sequence of int
        The columns.
    sizes : sequence of int
        How many categories occur in each; sensitive, as is which position is which.
    most : int
        Of a column no more leave: those of the largest noisy counts.
    mu, delta : float
        What the answer may cost; an infinite mu is without noise.
    releases : Releases

    Returns
    -------
    kept : list of ndarray of int
    """
    threshold = category_threshold(len(places), mu, delta)
    moved = math.sqrt(2.0 * len(places))
    ends = np.cumsum(sizes)

    def counted(inside):
        return rows.added(_counts, places, sizes)

    def frequent(noisy):
        found = []
        for counts in np.split(noisy, ends[:-1]):
            order = np.argsort(-counts, kind="stable")[:most]
            found.append(np.sort(order[counts[order] > threshold]))
        return found

    event = category_event(mu, delta)
    return releases(event.events if isinstance(event, Composed) else event, counted,
                    Part(1.0 / mu, moved, unit=_UNIT), only=frequent)


def _counts(rows, places, sizes):
    """Return the counts of all categories of all columns, float64."""
    block = rows.take(slice(0, len(rows))).X
    counts = []
    for place, size in zip(places, sizes, strict=True):
        codes = block[:, place]
        counts.append(np.bincount(codes[codes >= 0].astype(np.intp), minlength=size))
    return np.concatenate(counts).astype(np.float64)

"""Counts of numbers in bins and of declared categories, from one noisy sum each."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from dpsk._data.errors import quietly
from dpsk._mechanism.core import Statistic, mu_of
from dpsk._parameters import check_integer
from dpsk._privacy.certificate import Enforced
from dpsk._statistics.categories import count_noise, noisy_counts
from dpsk.metrics._estimate import REACH, Estimate, between
from dpsk.statistics._plan import within
from dpsk.statistics._reading import BY, CATEGORIES, Columns, as_declared

__all__ = ["cell_bound", "counted", "dp_histogram", "dp_value_counts"]

_MOST_BINS = 100_000
_BINS = f"an int in [1, {_MOST_BINS}], or two or more increasing edges, all finite"


@quietly
def dp_histogram(x: Any, bins: Any = 10, **options: Any) -> tuple[Estimate, Any]:
    """Return the number of values in each bin, with errors, and the edges of bins.

    Parameters
    ----------
    x : array-like of shape (n,), or Series
        Numbers; missing values and numbers beyond the edges are in no bin.
    bins : int or array-like of increasing numbers, default=10
        Number of equal-width bins within the bounds, or the edges of bins. As in NumPy, the last
        bin includes its right edge.
    **options : dict
        As for `dp_mean`: epsilon, delta, bounds, groups, random_state, by, categories.

    Returns
    -------
    counts : Estimate
        An entry for each bin, with the certificate in `privacy_`. With `by`, parts of the rows
        are on the first axis; noise does not grow with their number.
    edges : ndarray of shape (n_bins + 1,)
        The edges of bins.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.statistics import dp_histogram
    >>> counts, edges = dp_histogram(np.arange(1000) % 10, [0, 5, 10], epsilon=8.0)
    >>> bool(abs(counts.value - 500).max() < 20), edges.tolist()
    (True, [0.0, 5.0, 10.0])
    """
    if isinstance(bins, Integral):
        check_integer("bins", bins, low=1, high=_MOST_BINS, remedy=_BINS)
        even = np.linspace(0.0, 1.0, int(bins) + 1)
    else:
        given = as_declared("bins", bins, tuple, _BINS)
        if options.get("bounds") is not None:
            raise ValueError("bounds: edges of bins are bounds already; leave bounds=None, or "
                             "give a number of bins.")
        even, options = None, {**options, "bounds": (float(given[0]), float(given[-1]))}
    columns = Columns.of("dp_histogram", x, options, "bounds", *BY, one=True)

    def edges(low, high):
        return np.array(given, dtype=float) if even is None else low + (high - low) * even

    def summed(rows, low, high, mu, session):
        points = edges(low[0], high[0])
        # The last bin includes its right edge.
        points[-1] = np.nextafter(points[-1], np.inf)
        counts = noisy_counts(rows, {0: points}, mu, session, n_parts=columns.n_parts)[0]
        return counts[..., 1:-1]

    plan, data = within(columns, summed)
    (ranges, found, mu), certificate = columns.released(
        "histogram", plan, data, enforced=[cell_bound(1)], settings=edges(0.0, 1.0).tolist())
    return counted(found, count_noise(1, mu), columns, certificate), edges(*ranges.ends[0])


@quietly
def dp_value_counts(x: Any, categories: list[Any] | None = None, *, by: Any = None,
                    by_categories: list[Any] | None = None,
                    **options: Any) -> tuple[Estimate, list[Any]]:
    """Return how often each declared category occurs, with errors, and the categories.

    Parameters
    ----------
    x : array-like of shape (n,), or Series
        Categories: strings, booleans or numbers; missing values are not counted.
    categories : list or None, default=None
        Public categories; others are not counted. None: the categories of the dtype.
    by, by_categories : optional
        As `by` and `categories` of `dp_mean`.
    **options : dict
        As for `dp_mean`: epsilon, delta, groups, random_state.

    Returns
    -------
    counts : Estimate
        An entry for each category, with the certificate in `privacy_`. With `by`, parts of the
        rows are on the first axis; noise does not grow with their number.
    categories : list
        The categories, in declared order.

    Examples
    --------
    >>> from dpsk.statistics import dp_value_counts
    >>> counts, names = dp_value_counts(["no", "yes", "yes"] * 1000, ["yes", "no"], epsilon=8.0)
    >>> bool(abs(counts.value - [2000, 1000]).max() < 20), names
    (True, ['yes', 'no'])
    """
    if categories is not None:
        categories = as_declared("categories", categories, list, CATEGORIES)
    options |= {"by": by, "by_categories": by_categories}
    columns = Columns.of("dp_value_counts", x, options, "by", "by_categories", one=True,
                         only="words", categories=categories)
    names = list(columns.table.columns[0].categories)
    if not names:
        raise ValueError("categories=None: the dtype has none, and which occur is data; declare "
                         "their list, or find them with DPOneHotEncoder.")
    (found, certificate) = columns.released(
        "value counts", Statistic(partial(noisy_counts, n_parts=columns.n_parts)),
        (columns.rows, {0: len(names)}),
        enforced=[cell_bound(1)])
    noise = count_noise(1, mu_of(certificate.noise_multiplier))
    return counted(found[0], noise, columns, certificate), names


def counted(counts, noise, columns, certificate):
    """Return the Estimate of noisy counts."""
    found = between(counts, counts - REACH * noise, counts + REACH * noise,
                    (0.0, float(columns.budget.n_samples)))
    return replace(found, standard_error=np.full(np.shape(counts), noise), privacy_=certificate)


def cell_bound(n_columns):
    """Return the entry of a certificate on counts of `n_columns` columns."""
    return Enforced("cells", math.sqrt(2.0 * n_columns), "derived",
                    "l2 norm by which a replaced row moves the counts: one from a cell and one to "
                    "another, in every column")

"""Quantiles of columns, each from a private interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.errors import quietly
from dpsk._privacy.certificate import Enforced
from dpsk._statistics.decimals import decimal_points
from dpsk.statistics._points import CountedPoints, Points
from dpsk.statistics._reading import BY, HIDDEN, Columns, estimated

if TYPE_CHECKING:
    from typing import Any

    from dpsk.metrics._estimate import Estimate

__all__ = ["dp_median", "dp_quantile", "from_points", "rank_bound"]

#: Note on quantiles with few values.
_FEW = ("too few values for some of these quantiles within the budget: their intervals may be "
        "wide, and without declared bounds far from all values")
#: Keyword options beyond the common ones.
_ALSO = ("bounds", "population", *BY)


@quietly
def dp_quantile(X: Any, q: Any, **options: Any) -> Estimate:
    """Return quantiles of numbers, with error and certificate.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, n_columns), Series or DataFrame
        As for `dp_mean`.
    q : float in [0, 1], or array-like of such
        Levels of quantiles; several share the budget.
    **options : dict
        As for `dp_mean`, with `by` and `categories`. `bounds` limit the intervals; without them,
        no range is learned first.

    Returns
    -------
    quantile : Estimate
        The middle of an interval that covers the quantile in 95 % of releases. It has one entry
        for each `q`, before that of columns; the certificate is in `privacy_`. NaN where noise
        hides the number of values; its `note` says so, or where values are few.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsk.statistics import dp_quantile
    >>> quartiles = dp_quantile(np.arange(10_000) / 100.0, [0.25, 0.75], epsilon=8.0)
    >>> bool(abs(quartiles - [25.0, 75.0]).max() < 1.0)
    True
    """
    try:
        q = np.asarray(q, np.float64)
    except (OverflowError, TypeError, ValueError):
        q = np.array(np.nan)
    if q.ndim > 1 or not q.size or not ((q >= 0.0) & (q <= 1.0)).all():
        raise ValueError("q: must be a number in [0, 1], or a list of some.")
    return _at_levels("dp_quantile", X, q, options)


def _at_levels(name, X, q, options):
    columns = Columns.of(name, X, options, *_ALSO)
    points = Points(columns.names, tuple(np.atleast_1d(q).tolist()),
                    options.get("population", False), columns.n_parts)
    (found, few, counts), certificate = columns.released(
        "quantiles", CountedPoints(points, tuple(columns.whole.tolist())),
        (columns.rows, columns.edges(), None), enforced=[rank_bound()], settings=points)
    return from_points(columns, found, few, counts, certificate, one=not q.ndim)


@quietly
def dp_median(X: Any, **options: Any) -> Estimate:
    """Return the median of numbers, with error and certificate.

    Parameters
    ----------
    X : array-like of shape (n,) or (n, n_columns), Series or DataFrame
        As for `dp_mean`.
    **options : dict
        As for `dp_quantile`: epsilon, delta, bounds, groups, random_state, population, by,
        categories.

    Returns
    -------
    median : Estimate
        The middle of a 95 % interval of the median; the certificate is in `privacy_`.
    """
    return _at_levels("dp_median", X, np.array(0.5), options)


def rank_bound():
    """Return the entry of a certificate on the sensitivity of chosen points."""
    return Enforced("rank", 1.0, "derived", "how far a row moves the score of a point")


def from_points(columns, points, few, counts, certificate, one=False):
    """Return the Estimate of quantiles from the release of `CountedPoints`.

    Levels are on the axis before that of columns; with `one`, there is a single one.
    """
    low, high = (np.where(np.isnan(own), end, own) for own, end in zip(
        columns.edges().T, (-np.inf, np.inf), strict=True))
    found = np.clip(np.moveaxis(points, -3, -1), low, high)
    found = found[..., 0, :, :] if one else found
    begin, end = found[..., 0, :], found[..., 1, :]
    hidden = ~(counts > 1.0) if one else ~(counts > 1.0)[..., None, :]
    value = np.where(hidden, np.nan, 0.5 * begin + 0.5 * end)
    # The outermost points stand for all numbers beyond them.
    last = decimal_points().first[-1]
    begin, end = np.where(begin <= -last, low, begin), np.where(end >= last, high, end)
    note = HIDDEN if hidden.any() else _FEW if few.any() else None
    return estimated(columns, value, begin, end, (low, high), certificate, note)

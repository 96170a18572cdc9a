"""Choice of the entries of long arrays to read, from a few full readings."""

import numpy as np

__all__ = ["most_apart"]

#: Number of entries chosen from an array.
_CHOSEN = 256


def most_apart(first, second):
    """Return the places where entries of long arrays differ most between tables.

    Parameters
    ----------
    first, second : list of Published
        Fits on either table that still hold their long arrays.

    Returns
    -------
    places : dict of str to ndarray of int
        Indices of the chosen entries, by the name of the array.
    """
    names = dict.fromkeys(name for fit in first + second for name in fit.whole)
    places = {}
    for name in names:
        tables = [[fit.whole[name] for fit in fits if name in fit.whole]
                  for fits in (first, second)]
        if not all(tables):
            continue
        length = min(len(entries) for table in tables for entries in table)
        a, b = (np.array([entries[:length] for entries in table]) for table in tables)
        apart = _apart(a, b)
        if a.dtype.kind in "iu" and b.dtype.kind in "iu":
            apart = np.maximum(apart, _apart(a % 2, b % 2))
        places[name] = np.sort(np.argsort(-apart, kind="stable")[:_CHOSEN])
    return places


def _apart(first, second):
    """Return the distance of means in standard deviations; huge without noise."""
    with np.errstate(all="ignore"):
        a, b = (np.nan_to_num(table.astype(np.float64), nan=-1e100, posinf=1e100, neginf=-1e100)
                for table in (first, second))
        size = np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
        noise = a.std(axis=0) + b.std(axis=0) + 1e-12 * size + 1e-300
        return np.nan_to_num(np.abs(a.mean(axis=0) - b.mean(axis=0)) / noise)

"""Shares, a forest of columns and conditionals, from noisy counts."""

import math

import numpy as np

__all__ = ["conditional", "grown_forest", "least_distance", "nearest", "pooled",
           "shares_of"]

#: Of the noise that a pair's table would have: what its distance must exceed to be worth it.
_WORTH = 0.5
#: Sweeps that fit a table to its margins.
_SWEEPS = 20


def nearest(counts, totals):
    """Return the nearest counts that are not negative and have given totals, row by row.

    Parameters
    ----------
    counts : ndarray of shape (m, k)
    totals : ndarray of shape (m,)
        Positive, or 0.

    Returns
    -------
    counts : ndarray of shape (m, k)

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball for
    learning in high dimensions".
    """
    ordered = -np.sort(-counts, axis=1)
    surplus = (np.cumsum(ordered, axis=1) - totals[:, None]) / np.arange(1, counts.shape[1] + 1)
    last = np.maximum(1, np.sum(ordered > surplus, axis=1)) - 1
    return np.maximum(counts - np.take_along_axis(surplus, last[:, None], axis=1), 0.0)


def shares_of(counts, totals):
    """Return the shares of counts in given totals, row by row; even ones of a total of 0."""
    shares = counts / np.maximum(totals, _TINY)[:, None]
    shares[totals <= 0] = 1.0 / counts.shape[1]
    return shares


def pooled(tables, noises):
    """Return the mean of noisy tables of the same counts, each weighed by its noise.

    `noises` are standard deviations of a cell; where there is no noise the first table is exact.
    """
    if not noises[0]:
        return tables[0]
    weights = np.array(noises)**-2.0
    return np.tensordot(weights / weights.sum(), np.array(tables), 1)


def least_distance(sizes, n_classes, pair, cell_noise):
    """Return how far from independent a pair of columns must be to be worth a noisy table.

    Half of what noise of deviation `cell_noise` on its cells would add, in absolute value.

    References
    ----------
    McKenna, Mullins, Sheldon, Miklau (2022), "AIM: an adaptive and iterative mechanism for
    differentially private synthetic data", for the worth of a table.
    """
    one, other = pair
    noise = math.sqrt(2.0 / math.pi) * cell_noise
    return _WORTH * noise * n_classes * sizes[one] * sizes[other]


def grown_forest(n_columns, pairs, best):
    """Return the pairs of columns of a forest, each from parent to child, by Prim's algorithm.

    Every choice brings one more column: the child of one that the forest has, or, where no pair
    is worth it, the first that is left, as the root of another tree.

    Parameters
    ----------
    n_columns : int
    pairs : sequence of (int, int)
    best : callable, ndarray of bool -> int or None
        The place of the best of some pairs; asked ``n_columns - 1`` times.

    Returns
    -------
    found : list of (int, int)
        No parent occurs as a child after it has been one.
    """
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    reached, found = np.zeros(n_columns, bool), []
    reached[0] = True
    while not reached.all():
        inside = reached[ends]
        place = best(inside[:, 0] != inside[:, 1])
        if place is None:
            reached[np.argmin(reached)] = True
            continue
        parent, child = ends[place] if inside[place, 0] else ends[place][::-1]
        reached[child] = True
        found.append((int(parent), int(child)))
    return found


def conditional(table, parent, child, cell_noise):
    """Return the shares of a child's bins given its parent's, by class, from a noisy table.

    Cells are brought to counts, a parent's row is drawn to the child's own shares the more, the
    more of it is noise, and the table is fitted to both margins.

    Parameters
    ----------
    table : ndarray of shape (n_classes, a, b)
    parent : ndarray of shape (n_classes, a)
        Counts of the parent's bins, not negative.
    child : ndarray of shape (n_classes, b)
        Of the same totals.
    cell_noise : float

    Returns
    -------
    shares : ndarray of shape (n_classes, a, b)
        Rows sum to 1.
    """
    n_classes, _, size = table.shape
    totals = child.sum(axis=1)
    counts = nearest(table.reshape(n_classes, -1), totals).reshape(table.shape)
    own = shares_of(child, totals)
    prior = np.maximum(cell_noise * math.sqrt(size), _TINY)
    rows = (counts + prior * own[:, None, :]) / (counts.sum(axis=2, keepdims=True) + prior)
    joint = rows * parent[:, :, None]
    for _ in range(_SWEEPS):
        joint *= (child / np.maximum(joint.sum(axis=1), _TINY))[:, None, :]
        joint *= (parent / np.maximum(joint.sum(axis=2), _TINY))[:, :, None]
    sums = joint.sum(axis=2, keepdims=True)
    return np.where(sums > 0, joint / np.maximum(sums, _TINY), rows)


#: Beside counts it is nothing.
_TINY = 1e-9

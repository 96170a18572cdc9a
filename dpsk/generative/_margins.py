"""Probabilities, and a forest of pairs of columns, from noisy counts."""

import math

import numpy as np

__all__ = ["conditional", "grown_forest", "least_distance", "nearest", "pooled",
           "shares_of"]

#: Fraction of the noise of a pair's table that its distance from independence must exceed.
_WORTH = 0.5
#: Number of sweeps that fit a table to its margins.
_SWEEPS = 20


def nearest(counts, totals):
    """Return the nearest nonnegative counts with given totals, row by row.

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
    """Return counts divided by totals, row by row; equal shares if a total is 0."""
    shares = counts / np.maximum(totals, _TINY)[:, None]
    shares[totals <= 0] = 1.0 / counts.shape[1]
    return shares


def pooled(tables, noises):
    """Return the mean of noisy tables of the same counts, weighted by inverse variance.

    `noises` are the standard deviations of cells. Without noise the first table is exact.
    """
    if not noises[0]:
        return tables[0]
    weights = np.array(noises)**-2.0
    return np.tensordot(weights / weights.sum(), np.array(tables), 1)


def least_distance(sizes, n_classes, pair, cell_noise):
    """Return the least distance from independence for which a pair gets a noisy table.

    It is half of the expected absolute noise, of deviation `cell_noise`, summed over its cells.

    References
    ----------
    McKenna, Mullins, Sheldon, Miklau (2022), "AIM: an adaptive and iterative mechanism for
    differentially private synthetic data", for the worth of a table.
    """
    one, other = pair
    noise = math.sqrt(2.0 / math.pi) * cell_noise
    return _WORTH * noise * n_classes * sizes[one] * sizes[other]


def grown_forest(n_columns, pairs, best):
    """Return the (parent, child) pairs of a forest of columns, by Prim's algorithm.

    Every choice adds one column as a child of a column in the forest. If no pair is worth it, the
    first remaining column becomes the root of another tree.

    Parameters
    ----------
    n_columns : int
    pairs : sequence of (int, int)
    best : callable, ndarray of bool -> int or None
        Returns the index of the best of the marked pairs; called ``n_columns - 1`` times.

    Returns
    -------
    found : list of (int, int)
        No column occurs as a child after it has been a parent.
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
    """Return the probabilities of a child's bins given its parent's bins, by class.

    Noisy cells are projected to nonnegative counts. Each parent bin's row is shrunk toward the
    child's margin, more so where noise is larger. Then the table is fitted to both margins.

    Parameters
    ----------
    table : ndarray of shape (n_classes, a, b)
    parent : ndarray of shape (n_classes, a)
        Counts of the parent's bins, not negative.
    child : ndarray of shape (n_classes, b)
        Counts of the child's bins, with the same totals.
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


#: Negligible next to counts; avoids division by 0.
_TINY = 1e-9

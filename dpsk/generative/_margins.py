"""What a sampler of tables makes of noisy counts: shares, a forest of columns, conditionals."""

import math

import numpy as np

__all__ = ["best_forest", "conditional", "nearest", "pooled"]

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


def pooled(tables, noises):
    """Return the mean of noisy tables of the same counts, each weighed by its noise.

    `noises` are standard deviations of a cell; where there is no noise the first table is exact.
    """
    if not noises[0]:
        return tables[0]
    weights = np.array(noises)**-2.0
    return np.tensordot(weights / weights.sum(), np.array(tables), 1)


def best_forest(distances, sizes, n_classes, cell_noise):
    """Return the pairs of columns of a forest of largest worth, each from parent to child.

    A pair is worth how far its table is from that of independent columns, less what the noise on
    its cells would add; one that is worth nothing is left out.

    Parameters
    ----------
    distances : dict from (int, int) to float
    sizes : sequence of int
        Numbers of bins of the columns.
    n_classes : int
    cell_noise : float
        Standard deviation.

    Returns
    -------
    pairs : list of (int, int)
        Every parent occurs as a child before it is one, or never.

    References
    ----------
    McKenna, Mullins, Sheldon, Miklau (2022), "AIM: an adaptive and iterative mechanism for
    differentially private synthetic data", for the worth of a table.
    """
    worth = np.full((len(sizes), len(sizes)), -np.inf)
    for (one, other), distance in distances.items():
        noise = _WORTH * math.sqrt(2.0 / math.pi) * cell_noise * (
            n_classes * sizes[one] * sizes[other])
        worth[one, other] = worth[other, one] = distance - noise
    pairs, reached = [], np.zeros(len(sizes), bool)
    while not reached.all():
        # A new tree starts at the first column that none has reached.
        reached[np.argmin(reached)] = True
        while not reached.all():
            open_pairs = np.where(reached[:, None] & ~reached, worth, -np.inf)
            parent, child = np.unravel_index(np.argmax(open_pairs), worth.shape)
            if not open_pairs[parent, child] > 0:
                break
            reached[child] = True
            pairs.append((int(parent), int(child)))
    return pairs


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
    own = child / np.maximum(totals, _TINY)[:, None]
    # A class without rows has no shares of its own.
    own[totals <= 0] = 1.0 / size
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

"""Bins that follow the scores, from noisy counts of cells at several widths; post-processing.

Counts of all rows are distributed from the widest cells to the finest, and shrunk to the prior
shares as far as noise explains the difference. Shares of positives are estimated in a few groups
of rows. The bins then minimize ``noise + m * ties`` among all unions of neighboring cells, where
noise and ties are those of the ROC area and the average precision. The multiplier m is such that
there are about as many bins as the public rule asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpsk._defaults.evaluation import GROUPS, LEAST_BINS, POWER
from dpsk.metrics._curves import projected

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsk._typing import BoolArray, FloatArray, IntArray

__all__ = ["lone", "planned_bins", "row_counts"]

#: Least share of rows in a candidate union of cells, for speed.
_FINEST = 1.0 / 200.0
#: Least noise that a bin adds to an area, as the square of a rank; and the weight of ties at the
#: top, which matter for the average precision, relative to ties in the area.
_LEAST_NOISE, _AT_TOP = 0.1, 0.2
#: Cost of a bin that is too wide, more than all other costs.
_MUCH = 1e8
#: A lone cell holds this many times more rows than its two neighbors together.
_LONE = 3.0
#: Share of a bin above which a lone cell gets its own bin; and the same for the highest two bins.
_MOST, _MUCH_AT_TOP = 0.5, 0.2
#: Marks cells beyond the last one, which hold no rows.
_NO_ROWS = -1e300
#: Bisection steps for the multiplier m, and the interval of multipliers.
_HALVINGS, _MULTIPLIERS = 14, (1e-2, 1e6)


def planned_bins(levels: list[FloatArray], n_samples: int, noises: tuple[float, float],
                 n_bins: int, likely: FloatArray, threshold: int,
                 too_wide: Callable[..., BoolArray]) -> tuple[IntArray, FloatArray]:
    """Return the first cell of each bin except the lowest, and estimated rows of all cells.

    Parameters
    ----------
    levels : list of ndarray of shape (2, size)
        Noisy counts by label and cell, the widest cells first.
    n_samples : int
    noises : (float, float)
        Standard deviations of the noise on `levels`, and on the later counts of bins.
    n_bins : int
        Approximate number of bins.
    likely : ndarray of shape (n_cells,)
        Prior shares of rows.
    threshold : int
        A cell at which a bin must start; 0: none.
    too_wide : callable, (cells, ndarray of bool) -> ndarray of bool
        Says which bins, from one cell to before another, are too wide unless they hold few rows.
    """
    noise, later = noises
    rows = row_counts([level.sum(axis=0) for level in levels], n_samples, np.sqrt(2.0) * noise,
                      likely)
    counts = _by_label(levels, rows, n_samples, noise)
    if later:
        n_bins = fewer_bins(n_bins, counts.sum(axis=1))
    first = _candidates(rows, n_samples, threshold)
    added, ties = _costs(np.add.reduceat(counts, first, axis=1), later)
    ends = np.append(first, len(rows))
    held = np.append(0.0, np.cumsum(rows))[ends]
    many = held - held[:, None] > later
    added, kept = np.where(many & too_wide(ends, many), _MUCH, added), ends == threshold
    low, high = np.log(_MULTIPLIERS)
    for _ in range(_HALVINGS):
        chosen = _best(added + np.exp((low + high) / 2.0) * ties, kept)
        if len(chosen) - 1 == n_bins:
            break
        low, high = ((low + high) / 2.0, high) if len(chosen) - 1 < n_bins else (
            low, (low + high) / 2.0)
    return _with_atoms(first[chosen[1:-1]], rows, later), rows


def fewer_bins(n_bins: int, sizes: FloatArray) -> int:
    """Return the number of bins that balances noise and ties if one label is rarer.

    The rule for public bins assumes equally frequent labels. Noise matters more if the product of
    both sizes is smaller.
    """
    even = 4.0 * float(sizes[0]) * float(sizes[1]) / float(sizes.sum())**2
    return max(LEAST_BINS, round(n_bins * even**POWER))


def lone(rows: FloatArray) -> BoolArray:
    """Return which cells hold many more rows than both neighbors together."""
    beside = np.append(rows[1:], 0.0) + np.append(0.0, rows[:-1])
    return rows > _LONE * beside


def _with_atoms(first, rows, noise):
    """Return first cells of bins, after giving each dominant lone cell its own bin.

    A cell is dominant if it holds most of a bin. In the highest two bins a smaller share is
    enough, as precision there depends on few rows.
    """
    starts, ends = np.append(0, first), np.append(first, len(rows))
    found, single = list(first), lone(rows)
    for place, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        most = start + int(np.argmax(rows[start:end]))
        below, above = rows[start:most].sum(), rows[most + 1:end].sum()
        much = _MOST if place < len(starts) - 2 else _MUCH_AT_TOP
        if single[most] and rows[most] > much * (below + rows[most] + above):
            found += [edge for edge, beside in ((most, below), (most + 1, above))
                      if beside > noise]
    return np.unique(np.array(found, np.intp))


def row_counts(levels: list[FloatArray], n_samples: int, noise: float,
               likely: FloatArray) -> FloatArray:
    """Estimate the numbers of rows of cells from noisy counts, shape (n_cells,).

    Finer cells sum to the cell that contains them, and none is negative. They are shrunk toward
    the prior as far as noise explains the difference (James and Stein).
    """
    joined = len(levels[0])
    levels, variances = _summed(levels, noise)
    prior = np.zeros(len(levels[-1]))
    prior[:len(likely)] = likely
    known = np.array([float(n_samples)])
    for level, variance in zip(levels, variances, strict=True):
        found = level.reshape(-1, joined)
        shares = prior.reshape(len(level), -1).sum(axis=1).reshape(-1, joined)
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        expected = known[:, None] * shares
        off = found + (known - found.sum(axis=1))[:, None] / joined - expected
        square = np.maximum((off**2).sum(axis=1, keepdims=True), 1e-300)
        kept = np.maximum(1.0 - (joined - 1.0) * variance / square, 0.0)
        found = expected + kept * off
        # Cells beyond the last one only fill up the array, and hold no rows.
        found.reshape(-1)[-(-len(level) * len(likely) // len(prior)):] = _NO_ROWS
        known = projected(found, known).ravel()
    return known[:len(likely)]


def _summed(levels, noise):
    """Combine counts of each width with those of finer cells; also return variances."""
    joined, variance = len(levels[0]), noise**2
    found, variances = [levels[-1]], [variance]
    for level in levels[-2::-1]:
        finer = found[0].reshape(-1, joined).sum(axis=1)
        share = joined * variance / max(joined * variance + noise**2, 1e-300)
        variance = share * noise**2
        found.insert(0, share * level + (1.0 - share) * finer)
        variances.insert(0, variance)
    return found, variances


def _by_label(levels, rows, n_samples, noise):
    """Estimate the numbers of rows by label and cell, shape (2, n_cells).

    Shares of positives are estimated in a few groups, increasing with the score. They are clipped
    away from 0 and 1 by as much as noise may hide, so that no group seems to have one label only.
    """
    joined = levels[0].shape[1]
    found, _ = _summed([level[1] for level in levels], noise)
    known = found[0]
    for level in found[1:]:
        finer = level.reshape(-1, joined)
        known = (finer + (known - finer.sum(axis=1))[:, None] / joined).ravel()
    places = (np.cumsum(rows) - rows / 2.0) / n_samples
    group = np.searchsorted(np.sin(np.arange(1, GROUPS) * (np.pi / 2.0 / GROUPS))**2, places)
    held = np.maximum(np.bincount(group, rows, GROUPS), 1e-9)
    shares = _rising(np.bincount(group, known[:len(rows)], GROUPS) / held, held)
    unknown = np.clip(np.sqrt(joined) * noise / held, 1e-3, 0.5)
    positive = np.clip(shares, unknown, 1.0 - unknown)[group] * rows
    return np.stack([rows - positive, positive])


def _rising(values, weights):
    """Return the weighted isotonic regression of values."""
    blocks = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (one, its, size), (other, own, more) = blocks[-2:]
            blocks[-2:] = [((one * its + other * own) / (its + own), its + own, size + more)]
    return np.repeat([value for value, _, _ in blocks], [size for _, _, size in blocks])


def _candidates(rows, n_samples, threshold):
    """Return the first cells of the candidate unions, from which bins are built."""
    first, held = [0], 0.0
    for cell, count in enumerate(rows.tolist()):
        if cell == threshold or (cell > first[-1] and held + count > _FINEST * n_samples):
            first.append(cell)
            held = 0.0
        held += count
    return np.unique(first)


def _costs(counts, noise):
    """Return noise and ties added by a bin between any two edges, as square arrays."""
    sizes = np.maximum(counts.sum(axis=1), 1.0)
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(counts, axis=1) / sizes[:, None]], axis=1)
    area = (np.diff(below[1]) * (below[0, :-1] + below[0, 1:])).sum() / 2.0
    negative, positive = (below[:, :, None] + below[:, None, :]) / 2.0
    # Relative to about the most that a bin can add.
    weights = (sizes.min() / sizes)**2
    added = (np.maximum((negative - area)**2, _LEAST_NOISE) * weights[1]
             + np.maximum((1.0 - positive - area)**2, _LEAST_NOISE) * weights[0])
    ties = np.prod(below[:, None, :] - below[:, :, None], axis=0)
    above = np.maximum(sizes[1] * (1.0 - positive) + sizes[0] * (1.0 - negative), noise)
    return added, ties * (1.0 + _AT_TOP * sizes[0] / above)


def _best(costs, kept: BoolArray):
    """Return the increasing edges of the bins of least total cost, with all kept edges."""
    best, before, start = np.zeros(len(costs)), np.zeros(len(costs), np.int64), 0
    for end in range(1, len(costs)):
        whole = best[start:end] + costs[start:end, end]
        before[end] = start + int(np.argmin(whole))
        best[end] = whole[before[end] - start]
        if kept[end]:
            start = end
    chosen = [len(costs) - 1]
    while chosen[-1]:
        chosen.append(before[chosen[-1]])
    return np.array(chosen[::-1])

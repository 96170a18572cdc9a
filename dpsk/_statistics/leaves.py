r"""Noisy sums over the leaves of a tree, and private selection of splits.

**Leaf sums.** A row adds its slopes g and its sizes a to one leaf, one of each per output, with
``|g_k| <= a_k`` and ``|a| <= C``. Two rows in different leaves move the sums by the root of

    |g|^2 + |a|^2 + |g'|^2 + |a'|^2 <= 2 (|a|^2 + |a'|^2) <= 4 C^2,

and two rows in one leaf by no more, as ``(g_k - g'_k)^2 + (a_k - a'_k)^2 <= (a_k + a'_k)^2 +
(a_k - a'_k)^2 = 2 (a_k^2 + a'_k^2)``. So replacing a row moves the sums of slopes and of sizes
together by at most 2 C. The sums of slopes alone move as much: curvatures, or counts, are free.

**Groups.** A group adds the average of its rows' terms. The norm is convex, so two averages are no
further apart than some two of their rows, and no bound here increases.

**Splits.** The score of a candidate is the sum over leaves of the norm of the leaf's sum of
slopes. Removing a row changes it by at most C, and so does adding one: one score may rise by 4 C
more than another. Only the best candidate is released.

If every node of a level has its own split, a candidate is one split for every node, and its score
is the sum of their scores. With independent Gumbel noise on all splits of all nodes, the best
splits have the distribution of the best candidate. So a level costs as much as one selection.

**Labels.** With trees drawn by public randomness, a candidate is one tree with a class for every
leaf, and its score is the weight of the rows that it classifies correctly. A row contributes at
most 1, so one score may rise by 2 more than another. With Gumbel noise of scale s, a candidate is
selected with probability proportional to ``exp(score / s)``. Summed over the classes of all
leaves, this is ``exp(f / s)`` for a tree, where f is the sum over its leaves of ``s log sum_c
exp(n_c / s)``. Given the tree, each leaf has a class with probability proportional to
``exp(n_c / s)``. So we select the best noisy f, then the best noisy count in every leaf of that
tree, with independent noise. This has the distribution of one selection from all candidates,
which are too many to enumerate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpsk._data.blocks import row_blocks
from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import Sensitivity, derived_scale
from dpsk._models.clipping import shortened
from dpsk._privacy.events import Pure
from dpsk._privacy.noise.grids import exact_bits
from dpsk._privacy.sensitivity import REPLACE_ONE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._mechanism.session import Batch, Session
    from dpsk._privacy.elementary import Elementary
    from dpsk._typing import FloatArray, IntArray

__all__ = ["Slopes", "best_cuts", "best_labels", "best_splits", "noisy_label_counts",
           "noisy_leaf_sums", "noisy_mean_square"]

#: Squares and their noise are multiples of this.
_SQUARE_UNIT = 2.0**-20
#: Rows whose squares are computed at once.
_PART = 1 << 16
#: Leaves are numbered with eight bits.
_MOST_LEAVES = 256
#: The most joint leaves of candidates whose sums are computed together.
_JOINT_LEAVES = 1 << 12
#: The root of a half, rounded up.
_HALF_ROOT = math.nextafter(math.sqrt(0.5), 1.0)
#: Larger sizes count as this.
_LARGEST = np.finfo(np.float64).max
#: Entries per row, which set the length of blocks in sums.
_WIDTH = 4


class Slopes:
    """Slopes and sizes of rows in integer units, so that all their sums are exact.

    Parameters
    ----------
    slopes : ndarray of shape (n, n_outputs)
    sizes : ndarray of shape (n, n_outputs)
        Negative sizes count as 0; slopes are clipped to their sizes.
    clip : float
        Public bound on the norm of a row's sizes; longer rows are scaled down, with their slopes.
    event : Event
        Privacy cost of a query of sums.
    groups : Groups or None
        In a group of k rows, each row counts as 1 / k.
    law : str
        Distribution of the noise.

    Attributes
    ----------
    clip, unit : float
    whole : ndarray of shape (2 n_outputs, n)
        The slopes of every output, then the sizes of every output.
    """

    def __init__(self, slopes: FloatArray, sizes: FloatArray, clip: float,
                 event: Elementary, groups: Any = None, law: str = "standard_normal") -> None:
        n, n_outputs = slopes.shape
        self.clip = clip
        # The number of groups is public; the number of rows in groups is not.
        n_units = n if groups is None else groups.count
        scale = derived_scale(event, REPLACE_ONE * clip, law)
        self.unit = 2.0 ** -exact_bits(n_units * clip, scale)
        self.whole = np.empty((2 * n_outputs, n))
        for part in row_blocks(n, 4 * n_outputs):
            # Of a number and NaN, these functions return the number.
            given = np.fmin(np.fmax(sizes[part], 0.0), _LARGEST)
            with np.errstate(all="ignore"):
                bounds = shortened(given.copy(), clip)
                own = slopes[part] * np.fmax(bounds / given, 0.0)
            own[np.isnan(own)] = 0.0
            own = np.clip(own, -bounds, bounds)
            if groups is not None:
                own /= groups.sizes[part][:, None]
                bounds /= groups.sizes[part][:, None]
            # Truncation lengthens no row, and no slope exceeds its size after it.
            self.whole[:n_outputs, part] = np.trunc(own.T / self.unit)
            self.whole[n_outputs:, part] = np.trunc(bounds.T / self.unit)

    def at(self, leaves: IntArray) -> Rows:
        """Return rows whose feature is their leaf; targets are slopes and sizes, in units."""
        return Rows(leaves[:, None], self.whole.T)


def noisy_mean_square(rows: RowSource, event: Elementary, session: Session) -> float:
    """Return the noisy mean of squared targets, each at most 1, or of group means."""
    def total(batch: Batch) -> FloatArray:
        whole = 0.0
        for part in rows.blocks(_PART):
            _, lengths, shares = rows.take(part)
            squares = np.square(np.clip(np.nan_to_num(lengths, nan=1.0), 0.0, 1.0))
            if shares is not None:
                squares *= shares
            whole += np.trunc(squares / _SQUARE_UNIT).sum()
        return np.array([whole * _SQUARE_UNIT])

    noisy = session(event, total, Sensitivity(1.0, unit=_SQUARE_UNIT), divisor=rows.n_units)
    return float(noisy[0])


def best_cuts(slopes: Slopes, leaves: Any, event: Elementary,
              session: Session) -> int:
    """Return the index of the candidate cuts whose leaves separate the slopes best.

    Parameters
    ----------
    slopes : Slopes
    leaves : iterable of (ndarray of int, int)
        For every candidate, the leaf of every row and the number of leaves; read once.
    event : Event
    session : Session
    """
    n_outputs = len(slopes.whole) // 2

    def scores(batch: Batch) -> FloatArray:
        found = [_lengths(sums).sum() for sums in _sums_of_each(slopes, leaves, n_outputs)]
        return slopes.unit * np.array(found)

    return int(session(event, scores, _of_scores(slopes), select=np.argmax))


def best_splits(slopes: Slopes, at: IntArray, n_nodes: int, bins: IntArray, asked: IntArray,
                event: Elementary, session: Session, tried: Any = None) -> IntArray:
    """Return for every node of a level the index of the split with the best score.

    Parameters
    ----------
    slopes : Slopes
    at : ndarray of int
        The node of every row.
    n_nodes : int
        At most 128.
    bins : ndarray of int, shape (n_columns, n)
    asked : ndarray of int, shape (n_splits, 3)
        Column, first bin that goes right, and first bin above those; sorted by column.
    event : Event
    session : Session
    tried : ndarray of bool, shape (n_nodes, n_splits), or None
        The splits that a node may have, public; None for all.
    """
    n_outputs = len(slopes.whole) // 2

    def scores(batch: Batch) -> FloatArray:
        columns, starts = np.unique(asked[:, 0], return_index=True)
        parts = []
        for column, own in zip(columns, np.split(asked, starts[1:]), strict=True):
            size = int(own[:, 2].max())
            places = Rows(at.astype(np.intp)[:, None] * size + bins[column][:, None],
                          slopes.whole.T)
            below = np.zeros((n_outputs, n_nodes, size + 1))
            np.cumsum(_sums(places, n_nodes * size, n_outputs).reshape(n_outputs, n_nodes, size),
                      axis=2, out=below[:, :, 1:])
            right = below[:, :, own[:, 2]] - below[:, :, own[:, 1]]
            parts.append(_lengths(right) + _lengths(below[:, :, -1:] - right))
        return slopes.unit * np.concatenate(parts, axis=1)

    def select(noisy: FloatArray) -> IntArray:
        return np.argmax(noisy if tried is None else np.where(tried, noisy, -np.inf), axis=1)

    return np.asarray(session(event, scores, _of_scores(slopes), select=select))


def best_labels(slopes: Slopes, labels: IntArray, n_classes: int, leaves: Any, event: Elementary,
                session: Session) -> tuple[int, IntArray]:
    """Return the index of the best public tree, and the classes of its leaves.

    Parameters
    ----------
    slopes : Slopes
        Slopes of one output; sizes are the weights of rows.
    labels : ndarray of int
        The class of every row.
    n_classes : int
    leaves : iterable of (ndarray of int, int)
        For every tree, the leaf of every row and the number of leaves; read once. The trees do
        not depend on the rows.
    event : Event
    session : Session
    """
    # Floating-point errors are at most n_classes + 5 units: log-sums are at most 2^52 units, and
    # the error of each step is below 2^-52 of that.
    slack = 4.0 * (n_classes + 5.0) * slopes.unit
    moved = Sensitivity(REPLACE_ONE * slopes.clip + slack, "gumbel", unit=slopes.unit,
                        rounded=False)
    scale = derived_scale(event, moved.moved, "gumbel") / slopes.unit
    sizes: list[int] = []

    def scores(batch: Batch) -> FloatArray:
        free, parts = [], []
        for own, n_leaves in leaves:
            counts = _label_counts(slopes, labels, n_classes, own, n_leaves)
            each = np.logaddexp.reduce(counts / scale, axis=1)
            free.append(np.rint(scale * (each.sum() - n_leaves * math.log(n_classes))))
            parts.append(counts.ravel())
            sizes.append(n_leaves)
        return slopes.unit * np.concatenate([free, *parts])

    def select(noisy: FloatArray) -> tuple[int, IntArray]:
        place = int(np.argmax(noisy[:len(sizes)]))
        first = len(sizes) + n_classes * sum(sizes[:place])
        counts = noisy[first:first + n_classes * sizes[place]].reshape(-1, n_classes)
        return place, np.argmax(counts, axis=1)

    found: tuple[int, IntArray] = session(event, scores, moved, select=select)
    return found


def noisy_label_counts(rows: RowSource, shape: tuple[int, int], clip: float, unit: float,
                       event: Elementary, session: Session) -> tuple[FloatArray, float]:
    """Return noisy weights of classes in leaves, and the deviation of the noise.

    The shape is (n_leaves, n_classes). Rows are from `Slopes.at`, where the leaf is the flat index
    of (leaf, class). Replacing a row moves at most two weights, by at most `clip` each.
    """
    # For pure DP the noise is Laplace, whose standard deviation is sqrt(2) scales.
    pure, root = isinstance(event, Pure), math.sqrt(2.0)
    moved = Sensitivity(REPLACE_ONE * clip * (1.0 if pure else _HALF_ROOT),
                        "laplace" if pure else "standard_normal", unit=unit)
    noisy = session(event, lambda batch: unit * _sums(rows, math.prod(shape), None)[1].reshape(
        shape), moved)
    return noisy, derived_scale(event, moved.moved, moved.law) * (root if pure else 1.0)


def _label_counts(slopes: Slopes, labels: IntArray, n_classes: int, leaves: IntArray,
                  n_leaves: int) -> FloatArray:
    """Return the exact weights of the classes in leaves, in integer units."""
    places = leaves.astype(np.intp) * n_classes + labels
    found = np.zeros(n_leaves * n_classes)
    found += np.bincount(places, slopes.whole[1], len(found))
    return found.reshape(n_leaves, n_classes)


def _lengths(sums: FloatArray) -> FloatArray:
    """Return the norms of sums along the first axis, in integer units."""
    return np.abs(sums[0]) if len(sums) == 1 else np.rint(np.sqrt(np.square(sums).sum(axis=0)))


def _of_scores(slopes: Slopes) -> Sensitivity:
    """Return the sensitivity of the scores of a selection."""
    # With several outputs, norms are rounded to integers, each with an error below two units.
    slack = 0.0 if len(slopes.whole) == 2 else 8.0 * _MOST_LEAVES * slopes.unit
    return Sensitivity(4.0 * slopes.clip + slack, "gumbel", unit=slopes.unit, rounded=False)


def noisy_leaf_sums(rows: RowSource, n_leaves: int, clip: float, unit: float, event: Elementary,
                    session: Session) -> Any:
    """Return noisy sums of slopes and of sizes, both of shape (n_leaves, n_outputs).

    Parameters
    ----------
    rows : RowSource
        Result of `Slopes.at`.
    n_leaves : int
    clip, unit : float
        Attributes of the `Slopes`.
    event : Event
    session : Session
    """
    noisy = session(event, lambda batch: unit * _sums(rows, n_leaves, None),
                    Sensitivity(REPLACE_ONE * clip, unit=unit))
    return np.split(noisy.T, 2, axis=1)


def _sums(rows: RowSource, n_leaves: int, count: int | None) -> FloatArray:
    """Return the sums of `count` targets (None: all) per leaf, (count, n_leaves)."""
    block = rows.take(slice(0, len(rows)))
    targets = block.y.T[:count]
    found = np.zeros((len(targets), n_leaves))
    # Sums are exact, so the block length does not change them.
    for part in row_blocks(len(rows), _WIDTH):
        # Convert once for all targets.
        places = block.X[part, 0].astype(np.intp)
        for own, each in zip(found, targets, strict=True):
            own += np.bincount(places, each[part], n_leaves)
    return found


def _sums_of_each(slopes: Slopes, leaves: Any, count: int) -> Iterator[FloatArray]:
    """Yield the sums of the first `count` targets over the leaves of every candidate.

    Several candidates are combined into one, whose leaves are the combinations of their leaves.
    The sums of a candidate are then marginal sums of these.
    """
    sizes: list[int] = []
    joint: Any = None
    for own, n_leaves in leaves:
        if sizes and math.prod(sizes) * n_leaves > _JOINT_LEAVES:
            yield from _parted(_sums(slopes.at(joint), math.prod(sizes), count), sizes)
            sizes = []
        joint = joint.astype(np.uint16) * np.uint16(n_leaves) + own if sizes else own
        sizes.append(n_leaves)
    yield from _parted(_sums(slopes.at(joint), math.prod(sizes), count), sizes)


def _parted(sums: FloatArray, sizes: list[int]) -> Iterator[FloatArray]:
    """Yield the marginal sums of every axis of a table with axes of the given sizes."""
    table = sums.reshape(-1, *sizes)
    for place in range(len(sizes)):
        others = tuple(axis for axis in range(1, table.ndim) if axis != place + 1)
        yield table.sum(axis=others)

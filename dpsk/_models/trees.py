"""Trees on released bins of the columns of a table, of one question a level or a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.blocks import row_blocks

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import BoolArray, FloatArray, IntArray

__all__ = ["SplitTree", "TableBins", "Tree", "along", "below", "blended", "leaves_after"]


@dataclass(frozen=True, eq=False)
class TableBins:
    """A map of the columns of a table, each by itself, to bins in an order.

    Parameters
    ----------
    parts : tuple of ndarray
        Of a column of numbers its knots, which part it into bins; what is missing counts as less
        than all of them. Of one of categories the bin of each, that of any other last.
    numeric : tuple of bool
        Which of the two it is.
    """

    parts: tuple
    numeric: tuple

    @classmethod
    def of(cls, code: Any, order: Any) -> TableBins:
        """Return the bins of a released `TableCode`, categories in the order of some numbers.

        `order` has one array a column.
        """
        numeric = tuple(hasattr(part, "knots") for part in code.parts)
        return cls(tuple(
            np.asarray(part.knots) if known else np.argsort(np.argsort(own, kind="stable"))
            for part, known, own in zip(code.parts, numeric, order, strict=True)), numeric)

    @property
    def sizes(self) -> IntArray:
        """ndarray of int : the number of bins of every column."""
        return np.array([len(part) + known for part, known in
                         zip(self.parts, self.numeric, strict=True)])

    @property
    def splits(self) -> IntArray:
        """ndarray of int, shape (n_splits, 3) : all splits that a `SplitTree` may have.

        A cut between two bins of numbers, or a category apart from all others.
        """
        found = [(place, low, size if known else low + 1)
                 for place, (size, known) in enumerate(zip(self.sizes, self.numeric, strict=True))
                 for low in range(1 if known or size < 3 else 0, size)]
        splits: IntArray = np.array(found, dtype=int).reshape(-1, 3)
        return splits

    def dense(self, values: FloatArray) -> IntArray:
        """Return the bins of rows of numbers and positions, shape (n_columns, n)."""
        small = self.sizes.max() <= np.iinfo(np.uint8).max + 1
        bins = np.empty(values.shape[::-1], np.uint8 if small else np.uint16)
        for block in row_blocks(len(values), len(bins)):
            for place, (part, known) in enumerate(zip(self.parts, self.numeric, strict=True)):
                own = values[block, place]
                if known:
                    found = np.searchsorted(part, own, "right")
                    found[np.isnan(own)] = 0
                else:
                    # -1 is any other, which is last.
                    found = part[own.astype(np.intp)]
                bins[place, block] = found
        return bins


@dataclass(frozen=True, eq=False)
class Tree:
    """One value a leaf; a leaf is numbered by its answers, the first level's the highest bit.

    Parameters
    ----------
    cuts : ndarray of int, shape (depth, 2)
        The column of every level, and the least bin that is above its cut.
    values : ndarray of shape (2**depth, n_outputs)
    """

    cuts: np.ndarray
    values: np.ndarray

    def add(self, bins: IntArray, raw: FloatArray) -> None:
        """Add the values of rows to raw predictions, shape (n, n_outputs)."""
        for part in row_blocks(len(raw), 8):
            raw[part] += self.values[leaves_after(bins[:, part], self.cuts)]


def leaves_after(bins: IntArray, cuts: IntArray, before: IntArray | None = None) -> IntArray:
    """Return the leaf of every row after some cuts, uint8, of leaves `before` or of the root."""
    leaves: IntArray = np.zeros(bins.shape[1], np.uint8) if before is None else before.copy()
    for column, cut in cuts:
        # Sums of bytes are much faster than shifts, and nothing is converted.
        leaves += leaves
        leaves += (bins[column] >= int(cut)).view(np.uint8)
    return leaves


def blended(sums: FloatArray, likeness: float) -> FloatArray:
    """Return sums of leaves, shape (2**depth, k), with those of others at ``likeness**d`` added.

    d is the number of cuts that leaves differ in.
    """
    for bits in along(sums):
        low, high = bits[:, 0].copy(), bits[:, 1].copy()
        bits[:, 0] += likeness * high
        bits[:, 1] += likeness * low
    return sums


def along(values: FloatArray) -> Any:
    """Yield views of values of leaves, shape (2**depth, k), each with a level's answer second."""
    depth = len(values).bit_length() - 1
    for level in range(depth):
        yield values.reshape(2**level, 2, -1)



@dataclass(frozen=True, eq=False)
class SplitTree:
    """A tree whose nodes have splits of their own; released, with the noise on it.

    Node i of level l has the number ``2**l - 1 + i`` and the nodes 2 i and 2 i + 1 below it.

    Parameters
    ----------
    splits : tuple of ndarray of int, shape (2**l, 3)
        Of every level but the last: a column, and the least and the least higher bin of what goes
        to the second node below.
    kept : tuple of ndarray of bool, shape (2**l,)
        Whether a node is split; none below one that is not.
    means : ndarray of shape (n_nodes, n_outputs)
    counts : ndarray of shape (n_nodes,)
        Noisy weights of the nodes' rows.
    noise : ndarray of shape (n_nodes,)
        Standard deviation of the noise on a mean.
    """

    splits: tuple
    kept: tuple
    means: np.ndarray
    counts: np.ndarray
    noise: np.ndarray

    def leaves(self, bins: IntArray) -> IntArray:
        """Return the number of the leaf of every row of bins, shape (n_columns, n)."""
        return self.paths(bins)[-1]

    def paths(self, bins: IntArray) -> IntArray:
        """Return the numbers of the nodes of every row by level; a leaf's again below it."""
        at: IntArray = np.zeros(bins.shape[1], np.uint8)
        found = np.zeros((len(self.splits) + 1, bins.shape[1]), np.intp)
        for level, (asked, kept) in enumerate(zip(self.splits, self.kept, strict=True)):
            goes_on = kept[at] & (found[level] == np.add(2**level - 1, at, dtype=np.intp))
            at = below(bins, asked, at)
            # Numbers of nodes are no more of eight bits.
            number = np.add(2 ** (level + 1) - 1, at, dtype=np.intp)
            found[level + 1] = np.where(goes_on, number, found[level])
        return found

    def indicator(self, bins: IntArray) -> Any:
        """Return a sparse array, 1 where a row goes through a node, shape (n, n_nodes)."""
        paths = self.paths(bins)
        first = np.ones(paths.shape, bool)
        first[1:] = paths[1:] != paths[:-1]
        rows = np.broadcast_to(np.arange(paths.shape[1]), paths.shape)[first]
        return sparse.csr_array((np.ones(len(rows), np.int64), (rows, paths[first])),
                                shape=(paths.shape[1], len(self.counts)))

    @property
    def n_leaves(self) -> int:
        """int : the number of leaves."""
        return int(self.ends.sum())

    @property
    def ends(self) -> BoolArray:
        """ndarray of bool, shape (n_nodes,) : which nodes are leaves."""
        split, inner = np.zeros(len(self.counts), bool), len(self.counts) // 2
        split[:inner] = np.concatenate([split[:0], *self.kept])
        # Nothing is above the root, and two nodes are below every other.
        found: BoolArray = ~split & np.append(True, np.repeat(split[:inner], 2))
        return found

    @property
    def depth(self) -> int:
        """int : the number of levels on which something is split."""
        return int(sum(kept.any() for kept in self.kept))

    def gains(self, n_columns: int) -> FloatArray:
        """Return the squares that splits by every column explain, shape (n_columns,)."""
        found = np.zeros(n_columns)
        for level, (asked, kept) in enumerate(zip(self.splits, self.kept, strict=True)):
            first = 2**level - 1
            for place in np.flatnonzero(kept):
                node = first + place
                pair = slice(2 * node + 1, 2 * node + 3)
                apart = np.square(self.means[pair] - self.means[node]).sum(axis=1)
                found[asked[place, 0]] += np.maximum(self.counts[pair], 0.0) @ apart
        return found


def below(bins: IntArray, asked: IntArray, at: IntArray) -> IntArray:
    """Return the node of every row, uint8, by the splits of the nodes that it was at."""
    own = asked[at]
    found = bins[own[:, 0], np.arange(len(at))]
    return (2 * at + ((found >= own[:, 1]) & (found < own[:, 2]))).astype(np.uint8)

"""Which rows belong together, as those of one person do."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from scipy import sparse

from dpsk._data.errors import discreetly
from dpsk._privacy.noise.public import public_uniforms

__all__ = ["Groups", "group_codes", "groups_of", "one_a_row", "units_of"]


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """The group of every row. How many there are is public; sizes and members are not.

    Parameters
    ----------
    count : int
    codes : ndarray of int, shape (n,)
        The index of every row's group.
    sizes : ndarray of float64, shape (n,)
        The number of rows in every row's group.
    random_state : RandomState
        Rules the public draws of rows that stand for groups.
    """

    count: int
    codes: np.ndarray
    sizes: np.ndarray
    random_state: object = None

    @classmethod
    def of(cls, codes, random_state=None):
        """Return the groups of rows with the index of every row's group, each of which occurs."""
        counts = np.bincount(codes)
        return cls(len(counts), codes, counts.astype(np.float64)[codes], random_state)

    def piece(self, part):
        """Return the groups of a slice of the rows, of their sizes in the whole table."""
        return Groups(self.count, self.codes[part], self.sizes[part])

    def subset(self, units):
        """Return the indices of the rows of some groups, as they stand, and the groups of these.
        """
        inside = np.zeros(self.count, bool)
        inside[units] = True
        rows = np.flatnonzero(inside[self.codes])
        return rows, Groups.of((np.cumsum(inside) - 1)[self.codes[rows]])

    @cached_property
    def order(self):
        """ndarray : the indices of the rows, group by group."""
        n = len(self.codes)
        member = sparse.csr_matrix((np.ones(n, bool), self.codes, np.arange(n + 1)),
                                   (n, self.count))
        # Rows of a column stay in order: a stable sort, by counting.
        return member.tocsc().indices

    @cached_property
    def _ends(self):
        """ndarray : where each group begins and ends in that order."""
        counts = np.bincount(self.codes, minlength=self.count)
        return np.append(0, np.cumsum(counts))

    def members(self):
        """Return the indices of the rows of every group, a list."""
        return np.split(self.order, self._ends[1:-1])

    def lengths(self, units):
        """Return the numbers of rows of some groups."""
        return self._ends[units + 1] - self._ends[units]

    def places_of(self, units):
        """Return where in their order the rows of some groups are, one group after another."""
        lengths = self.lengths(units)
        starts = np.cumsum(lengths) - lengths
        return np.repeat(self._ends[units] - starts, lengths) + np.arange(lengths.sum())

    def rows_of(self, units):
        """Return the indices of the rows of some groups, one group after another."""
        return self.order[self.places_of(units)]

    def one_each(self, random_state):
        """Return the index of one row of every group, drawn by public randomness.

        Which row of a group it is follows from its own number of rows, and from no other group.
        """
        drawn = public_uniforms(random_state, "rows that stand for groups", self.count)
        lengths = np.diff(self._ends)
        return self.order[self._ends[:-1] + np.floor(drawn * lengths).astype(lengths.dtype)]

    @cached_property
    def shown(self):
        """ndarray : the index of one row of every group, as `one_each` draws it, once."""
        if not np.diff(self._ends).all():
            raise NotImplementedError("Some of these groups have no rows in this part of a table.")
        return self.one_each(self.random_state)

    def digest(self):
        """Return a digest of who belongs to whom."""
        return hashlib.sha256(self.codes.astype("<i8").tobytes()).digest()


def units_of(groups: Groups | None) -> str:
    """Return what messages call those who are protected."""
    return "rows" if groups is None else "groups of rows"


def groups_of(labels, n_samples, unit="rows", random_state=None):
    """Return the `Groups` of so many rows with labels, or None for None."""
    codes = group_codes(labels, n_samples, unit)
    return None if codes is None else Groups.of(codes, random_state)


def group_codes(labels, n_samples, unit="rows"):
    """Return the index of every row's group among the labels that occur, or None for None.

    `unit` is what messages call rows; none of them carries a label.
    """
    if labels is None:
        return None
    masked = bool(np.any(np.ma.getmask(labels)))
    labels = _uncast(labels, one_a_row("groups", labels, n_samples, unit))
    if masked or not _tell_groups_apart(labels):
        raise ValueError("groups contains NaN or infinity, or what is no number and no word; give "
                         f"those {unit} a group of their own.")
    distinct, codes = discreetly("groups", _distinct, labels)
    if len(distinct) < 2:
        raise ValueError("groups: one group alone has nobody to hide among; pass at least two, "
                         f"or groups=None to protect {unit}.")
    return codes


def one_a_row(name, values, n_samples, unit="rows"):
    """Return an array of one entry a row."""
    values = discreetly(name, np.asarray, values)
    if values.shape != (n_samples,):
        raise ValueError(f"{name} of shape {values.shape}: must be one entry for each of the "
                         f"{n_samples} {unit}, shape ({n_samples},).")
    return values


def _uncast(given, labels):
    """Return labels as they were given, where they became words on the way to an array.

    Beside a word 1 and 1.0 would be two groups, and what is no number a word.
    """
    if labels.dtype.kind not in "SU" or hasattr(given, "dtype"):
        return labels
    return np.array([*given, None], dtype=object)[:-1]


def _tell_groups_apart(labels):
    """Return whether labels are words, finite numbers or times: others may differ from themselves.

    Rows of one group would then count as groups of their own.
    """
    if labels.dtype.kind == "O":
        return all(isinstance(label, (str, bytes)) or (
            isinstance(label, Real) and -np.inf < label < np.inf) for label in labels.tolist())
    return labels.dtype.kind in "SU" or (
        labels.dtype.kind in "biufmM" and bool(np.isfinite(labels).all()))


def _distinct(labels):
    """Return distinct labels, and the index of every label among them."""
    if labels.dtype.kind != "O":
        return np.unique(labels, return_inverse=True)
    # In the order of rows the index of a group would follow from the rows of others.
    distinct = sorted(set(labels.tolist()), key=_rank)
    places = {label: place for place, label in enumerate(distinct)}
    return distinct, np.array([places[label] for label in labels.tolist()])


def _rank(label):
    """Return what orders labels: numbers, then words, which have no order side by side."""
    return isinstance(label, str) + 2 * isinstance(label, bytes), label

"""Groups of rows, such as all rows of one user, for user-level privacy."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from scipy import sparse

from dpsk._data.errors import discreetly
from dpsk._data.structure import refuse_masked
from dpsk._privacy.noise.public import public_uniforms
from dpsk._privacy.noise.seeds import noise_seed
from dpsk._privacy.noise.streams import open_stream, random_permutation

__all__ = ["Groups", "group_codes", "groups_of", "one_a_row", "units_of"]


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """The group of every row; only the number of groups is public.

    Parameters
    ----------
    count : int
    codes : ndarray of int, shape (n,)
        The index of every row's group.
    sizes : ndarray of float64, shape (n,)
        The number of rows in every row's group.
    random_state : RandomState
        Seeds the public randomness that picks one row to represent each group.
    """

    count: int
    codes: np.ndarray
    sizes: np.ndarray
    random_state: object = None

    @classmethod
    def of(cls, codes, random_state=None):
        """Return the groups, given the group index of every row; no group may be empty."""
        counts = np.bincount(codes)
        return cls(len(counts), codes, counts.astype(np.float64)[codes], random_state)

    def piece(self, part):
        """Return the groups of a slice of the rows, with their sizes in the whole table."""
        return Groups(self.count, self.codes[part], self.sizes[part])

    def subset(self, units):
        """Return the sorted row indices of some groups, and the groups of these rows."""
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
        # Each column keeps its rows in order, so this is a stable counting sort.
        return member.tocsc().indices

    @cached_property
    def _ends(self):
        """ndarray : the start of each group in `order`, and the number of rows."""
        counts = np.bincount(self.codes, minlength=self.count)
        return np.append(0, np.cumsum(counts))

    def members(self):
        """Return a list with the row indices of every group."""
        return np.split(self.order, self._ends[1:-1])

    def lengths(self, units):
        """Return the numbers of rows of some groups."""
        return self._ends[units + 1] - self._ends[units]

    def places_of(self, units):
        """Return the positions in `order` of the rows of some groups, group by group."""
        lengths = self.lengths(units)
        starts = np.cumsum(lengths) - lengths
        return np.repeat(self._ends[units] - starts, lengths) + np.arange(lengths.sum())

    def rows_of(self, units):
        """Return the indices of the rows of some groups, group by group."""
        return self.order[self.places_of(units)]

    def one_each(self, random_state):
        """Return the index of one row of every group, drawn by public randomness.

        The position of the row in its group depends on the size of that group only.
        """
        drawn = public_uniforms(random_state, "rows that stand for groups", self.count)
        lengths = np.diff(self._ends)
        return self.order[self._ends[:-1] + np.floor(drawn * lengths).astype(lengths.dtype)]

    @cached_property
    def shown(self):
        """ndarray : the index of one row of every group, drawn once by `one_each`."""
        if not np.diff(self._ends).all():
            raise NotImplementedError("Some of these groups have no rows in this part of a table.")
        return self.one_each(self.random_state)

    def digest(self):
        """Return a digest of the group index of every row."""
        return hashlib.sha256(self.codes.astype("<i8").tobytes()).digest()


def units_of(groups: Groups | None) -> str:
    """Return the name of the privacy unit in messages."""
    return "rows" if groups is None else "groups of rows"


def groups_of(labels, n_samples, random_state, unit="rows"):
    """Return the `Groups` of rows with group labels, or None for None.

    Their indices are in secret order, which only a NoiseSeed repeats. In the order of labels, a
    person who is replaced by another, of another label, would move the indices of others.
    """
    codes = group_codes(labels, n_samples, unit)
    if codes is None:
        return None
    count = int(codes.max()) + 1
    stream = open_stream(noise_seed(random_state), lambda: [f"order of groups {count}".encode()])
    return Groups.of(random_permutation(stream, count)[codes], random_state)


def group_codes(labels, n_samples, unit="rows"):
    """Return an index of the label of every row, or None for None.

    `unit` is the name of rows in messages, which never carry a label.
    """
    if labels is None:
        return None
    labels = _uncast(labels, one_a_row("groups", labels, n_samples, unit))
    if not _tell_groups_apart(labels):
        raise ValueError("groups contains NaN or infinity, or what is no number and no word; give "
                         f"those {unit} a group of their own.")
    codes = discreetly("groups", _indices, labels)
    if codes.max() < 1:
        raise ValueError("groups: one group alone has nobody to hide among; pass at least two, "
                         f"or groups=None to protect {unit}.")
    return codes


def one_a_row(name, values, n_samples, unit="rows"):
    """Return an array with one entry per row, or raise a ValueError."""
    refuse_masked(name, values)
    values = discreetly(name, np.asarray, values)
    if values.shape != (n_samples,):
        raise ValueError(f"{name} of shape {values.shape}: must be one entry for each of the "
                         f"{n_samples} {unit}, shape ({n_samples},).")
    return values


def _uncast(given, labels):
    """Return labels as objects if NumPy has converted a list of them to strings or floats.

    As strings, 1 and 1.0 would be two groups, and NaN would be an ordinary label. As floats, whole
    numbers above 2**53 would be one group, because of the type of a single label.
    """
    if labels.dtype.kind not in "SUf" or hasattr(given, "__array__"):
        return labels
    return np.array([*given, None], dtype=object)[:-1]


def _tell_groups_apart(labels):
    """Return whether all labels are strings, finite numbers or times.

    Other labels, such as NaN, may differ from themselves, which would split a group into rows.
    """
    if labels.dtype.kind == "O":
        return all(isinstance(label, (str, bytes)) or (
            isinstance(label, Real) and -np.inf < label < np.inf) for label in labels.tolist())
    return labels.dtype.kind in "SU" or (
        labels.dtype.kind in "biufmM" and bool(np.isfinite(labels).all()))


def _indices(labels):
    """Return an index of every label; equal labels have the same one."""
    if labels.dtype.kind != "O":
        return np.unique(labels, return_inverse=True)[1]
    labels = labels.tolist()
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return np.array([places[label] for label in labels])

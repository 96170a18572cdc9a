"""Everything that a fitted estimator publishes: attributes and method outputs."""

import pickle
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from dpsk.auditing._leaves import Opaque, Unread, leaves
from dpsk.auditing._readings import bytes_read, digits, hashed, is_cut, text_read

__all__ = ["Published", "published", "refusal"]

#: Maximum number of evenly spaced entries read from one array, and from all arrays of a fit.
_MOST, _IN_ALL = 2000, 6000
#: Guaranteed number of entries read from any array, and maximum number of strings read closely.
_LEAST, _STRINGS = 16, 64
#: Maximum number of entries of one fit that are kept for the choice of entries.
_WHOLE = 500_000


def _rows(fitted, probes):
    return (probes,)


def _transformed(fitted, probes):
    return (fitted.transform(probes) if hasattr(fitted, "transform") else probes,)


#: Methods to call, each with a function that returns its arguments.
_ANSWERS = {
    **dict.fromkeys(("decision_function", "predict_proba", "predict_log_proba", "transform",
                     "predict", "score_samples"), _rows),
    "inverse_transform": _transformed,
    "score": lambda fitted, probes: (probes, np.zeros(len(probes))),
    "sample": lambda fitted, probes: (5,),
    "get_feature_names_out": lambda fitted, probes: ()}


@dataclass
class Published:
    """Everything that one fit publishes.

    Attributes
    ----------
    numbers : dict of str to ndarray of float64, one-dimensional
        Values that may be averaged.
    labels : dict of str to ndarray, one-dimensional
        Values to compare for equality: hashes of words, types, shapes, bytes and low digits.
    places : dict of str to ndarray of int, or None
        Entries of long arrays to read in addition to evenly spaced ones; None: not yet chosen.
    whole : dict of str to ndarray
        Long arrays, until entries of them are chosen.
    partial : set of str
        Names of arrays that are too long to be kept in full, of objects that do not show their
        contents, and of the objects beyond the maximum.
    cut : set of str
        Names of strings and bytes that are compressed, or of which only the ends are read.
    error : str
        The type of the error that the fit ended with; empty if there was none.
    """

    numbers: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    places: dict | None = field(default_factory=dict)
    whole: dict = field(default_factory=dict)
    partial: set = field(default_factory=set)
    cut: set = field(default_factory=set)
    error: str = ""
    _read: int = 0
    _held: int = 0

    def is_like(self, other):
        """Return whether another fit publishes the same bits."""
        return all(own.keys() == more.keys() and all(
            values.tobytes() == more[name].tobytes() for name, values in own.items())
            for own, more in ((self.numbers, other.numbers), (self.labels, other.labels),
                              (self.whole, other.whole)))

    def read(self, name, leaf):
        """Add a leaf to the published numbers and labels."""
        if isinstance(leaf, Opaque):
            self._label(f"type of {name}", leaf.name)
        elif isinstance(leaf, Unread):
            self.partial.add(name)
        elif isinstance(leaf, str | bytes | bytearray):
            self._label(name, leaf)
            self.numbers[f"length of {name}"] = np.array([float(len(leaf))])
            self._text(name, leaf)
            # The contents of a pickle are read separately.
            if is_cut(leaf) and not name.endswith("pickle"):
                self.cut.add(name)
        elif leaf is None:
            self._label(f"type of {name}", "None")
        elif isinstance(leaf, int) and abs(leaf) >= 2**53:
            self._label(name, leaf)
            self._add(name, {}, digits(np.array([abs(leaf) % 1280], dtype=np.int64)))
        elif type(leaf) in (bool, int):
            self._label(f"type of {name}", type(leaf).__name__)
            self.numbers[name] = np.array([float(leaf)])
            self._add(name, {}, _digits_of(leaf))
        else:
            self._array(name, np.asarray(leaf))

    def choose(self, places):
        """Read the chosen entries of long arrays, and drop the others."""
        for name, entries in self.whole.items():
            self._chosen(name, entries, places)
        self.places, self.whole = places, {}

    def _chosen(self, name, entries, places):
        chosen = places.get(name, np.empty(0, dtype=int))
        chosen = entries[chosen[chosen < len(entries)]]
        name = f"chosen entries of {name}"
        self.numbers[name] = chosen.astype(np.float64)
        if chosen.dtype.kind in "fiu":
            self._add(name, {}, digits(chosen))

    def _long(self, name, entries):
        """Read the chosen entries of a long array; keep all if none are chosen yet."""
        self._label(f"bytes of {name}", entries.tobytes())
        if entries.dtype.kind not in "fiub":
            self.partial.add(name)
        elif self.places is not None:
            self._chosen(name, entries, self.places)
        else:
            self.whole[name] = entries[:_WHOLE - self._held].copy()
            self._held += len(self.whole[name])
            if len(self.whole[name]) < len(entries):
                self.partial.add(name)

    def _array(self, name, array):
        # 5, 5.0 and an array of 5 differ in type but not in value.
        self._label(f"type of {name}", f"{array.dtype.str} {array.shape}")
        self.numbers[f"size of {name}"] = np.array([float(array.size)])
        entries = array.ravel()
        most = min(_MOST, max(_LEAST, _IN_ALL - self._read))
        if len(entries) > most:
            self._long(name, entries)
            entries = entries[np.linspace(0, len(entries) - 1, most).astype(int)]
        self._read += len(entries)
        if entries.dtype.kind in "mM":
            entries = entries.astype(np.int64)
        if entries.dtype.kind == "c":
            entries = np.concatenate([entries.real, entries.imag])
        if entries.dtype.kind in "US":
            entries = entries.tolist()
            self.labels[name] = np.array([hashed(each) for each in entries])
            for place, each in enumerate(entries[:_STRINGS]):
                self._text(f"{name}[{place}]", each)
            return
        read = entries
        self.numbers[name] = entries.astype(np.float64)
        if len(entries) > 1:
            # Sorting reveals rows that a fit keeps in random order.
            entries = np.sort(self.numbers[name])
            self._label(f"sorted {name}", entries.tobytes())
            self.numbers[f"ends of {name}"] = entries[[0, -1]]
        if array.dtype.kind in "fiu" and array.size:
            self._add(name, {}, digits(read))

    def _text(self, name, value):
        """Add the parts of a string or bytes: noise in one part does not hide the others."""
        if isinstance(value, str):
            self._add(name, *text_read(value))
            return
        value = bytes(value)
        self._add(name, *bytes_read(value, not name.endswith("pickle")))
        if value.isascii():
            self._add(name, *text_read(value.decode("ascii")))

    def _add(self, name, numbers, labels):
        for found, held in ((numbers, self.numbers), (labels, self.labels)):
            for kind, values in found.items():
                held[f"{kind} of {name}"] = values

    def _label(self, name, value):
        self.labels[name] = (_label_of(value) if type(value) is str
                             else np.array([hashed(value)]))


# Most labels, such as types and parameters, are the same in all fits; hence the caches.

@lru_cache(maxsize=1024)
def _label_of(text):
    return np.array([hashed(text)])


@lru_cache(maxsize=1024)
def _digits_of(number):
    return digits(np.array([number], dtype=np.int64))


def published(fitted, probes, places=None, keys=None):
    """Return all that a fitted estimator publishes.

    Parameters
    ----------
    fitted : estimator
    probes : array-like of shape (n_probes, n_features)
        Public rows on which methods are called.
    places : dict of str to ndarray of int or None, default=None
        Entries of long arrays to read; None keeps all entries, to choose from.
    keys : set of str or None, default=None
        Keys of mappings that serve as names; None: all do.

    Returns
    -------
    found : Published
        All attributes, also of steps and members, the pickle, and the outputs of methods. A
        method that ends with an error is recorded so, and the others are still called.
    """
    found = Published(places=places)
    for name, leaf in leaves(fitted, "", keys):
        found.read(name, leaf)
    try:
        found.read("pickle", pickle.dumps(fitted, protocol=4))
    except Exception as error:
        found.read("pickle", Opaque(error))
    for method, asked_on in _ANSWERS.items():
        try:
            # A method may write into the rows that it is given.
            answer = getattr(fitted, method)(*asked_on(fitted, deepcopy(probes)))
        except Exception as error:
            answer = Opaque(error)
        for name, leaf in [("", answer)] if isinstance(answer, Opaque) else (
                leaves(answer, "", keys)):
            found.read(f"{method}(){name}", leaf)
    return found


def refusal(error):
    """Return what a fit that ended with an error publishes: the type of the error."""
    found = Published(error=type(error).__name__)
    found.read("fit that ended with an error", Opaque(error))
    return found

"""What a fitted estimator publishes: all that it holds, and its answers on fixed rows."""

import pickle
import zlib
from dataclasses import dataclass, field

import numpy as np

from dpsk.auditing._leaves import Opaque, leaves

__all__ = ["Published", "published", "refusal"]

#: The most entries that are read of one array, evenly spread, and of all together.
_MOST, _IN_ALL = 2000, 6000
#: Low digits are read of so many entries of an array.
_DIGITS = 16
#: Points a unit of grids beyond which digits are read.
_GRIDS = 2.0 ** np.array([[0], [20], [30]])
_ANSWERS = ("decision_function", "predict_proba", "transform", "predict", "score_samples")


@dataclass
class Published:
    """Everything that one fit shows.

    Attributes
    ----------
    numbers : dict of str to ndarray of float64, one-dimensional
        What may be averaged.
    labels : dict of str to ndarray of float64, one-dimensional
        What is the same or is not: hashes of words, types, shapes and low digits.
    """

    numbers: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    _read: int = 0

    def read(self, name, leaf):
        """Add a leaf to what is shown, as numbers and labels."""
        if isinstance(leaf, Opaque):
            self._label(f"type of {name}", leaf.name)
        elif isinstance(leaf, str | bytes | bytearray):
            self._label(name, leaf)
            self.numbers[f"length of {name}"] = np.array([float(len(leaf))])
        elif leaf is None:
            self._label(f"type of {name}", "None")
        elif isinstance(leaf, int) and abs(leaf) >= 2**53:
            self._label(name, leaf)
        elif type(leaf) in (bool, int):
            self._label(f"type of {name}", type(leaf).__name__)
            self.numbers[name] = np.array([float(leaf)])
        else:
            self._array(name, np.asarray(leaf))

    def _array(self, name, array):
        # 5, 5.0 and an array of 5 differ, though their numbers do not.
        self._label(f"type of {name}", f"{array.dtype.str} {array.shape}")
        self.numbers[f"size of {name}"] = np.array([float(array.size)])
        entries = array.ravel()
        most = min(_MOST, max(_DIGITS, _IN_ALL - self._read))
        if len(entries) > most:
            self._label(f"bytes of {name}", entries.tobytes())
            entries = entries[np.linspace(0, len(entries) - 1, most).astype(int)]
        self._read += len(entries)
        if entries.dtype.kind in "mM":
            entries = entries.astype(np.int64)
        if entries.dtype.kind == "c":
            entries = np.concatenate([entries.real, entries.imag])
        if entries.dtype.kind in "US":
            self.labels[name] = np.array([_hash(each) for each in entries.tolist()])
            return
        self.numbers[name] = entries.astype(np.float64)
        if len(entries) > 1:
            # Rows that are kept in an order drawn anew show here.
            entries = np.sort(self.numbers[name])
            self._label(f"sorted {name}", entries.tobytes())
            self.numbers[f"ends of {name}"] = entries[[0, -1]]
        if array.dtype.kind == "f" and len(entries):
            self.labels[f"low digits of {name}"] = _low_digits(self.numbers[name][:_DIGITS])

    def _label(self, name, value):
        self.labels[name] = np.array([_hash(value)])


def published(fitted, probes):
    """Return all that a fitted estimator publishes.

    Parameters
    ----------
    fitted : estimator
    probes : array-like of shape (n_probes, n_features)
        Public rows, on which it is asked.

    Returns
    -------
    found : Published
        All attributes, those of steps and members included, the length and the hash of the pickle,
        and answers, each by itself: one that ends with an error says so and hides no other.
    """
    found = Published()
    for name, leaf in leaves(fitted, ""):
        found.read(name, leaf)
    try:
        found.read("pickle", pickle.dumps(fitted, protocol=4))
    except Exception as error:
        found.read("pickle", Opaque(error))
    for method in _ANSWERS:
        try:
            answer = getattr(fitted, method)(probes)
        except Exception as error:
            answer = Opaque(error)
        for name, leaf in [("", answer)] if isinstance(answer, Opaque) else leaves(answer, ""):
            found.read(f"{method}(){name}", leaf)
    return found


def refusal(error):
    """Return what a fit shows that ended with an error: of which type it was."""
    found = Published()
    found.read("fit that ended with an error", Opaque(error))
    return found


def _low_digits(values):
    """Return what follows the last digit that a coarse grid would leave, and the lowest byte."""
    bits = values.view(np.uint64)
    lowest = (bits & np.uint64(0xFF)) + ((bits >> np.uint64(63)) << np.uint64(8))
    with np.errstate(all="ignore"):
        eighths = np.floor(np.mod(values * _GRIDS, 1.0) * 8.0)
    return np.concatenate([lowest.astype(np.float64), eighths.ravel()])


def _hash(value):
    return float(zlib.crc32(value if isinstance(value, bytes) else repr(value).encode()))

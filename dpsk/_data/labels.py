"""Class labels to indices, without quoting a label in an error."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from dpsk._data.errors import discreetly, without_warnings

if TYPE_CHECKING:
    from typing import Any

    from dpsk._data.source import RowSource
    from dpsk._typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["encode_labels", "encoded_rows", "label_array", "labels_fact"]


#: Labels that are looked up at once, and the range of whole numbers within which all are counted.
_PART, _MOST_COUNTED = 1 << 20, 1 << 16
#: Declared labels that a message lists.
_MOST_LISTED = 10


def encode_labels(
        y: Any, classes: Any, name: str, what: str = "y",
        parameter: str = "classes"
) -> tuple[IntArray | FloatArray | BoolArray | AnyArray, IntArray]:
    """Return the sorted classes and the index of every label of `y` among them, int64, shape (n,).

    `classes` is the public label set; None to take it from `y`. `name`, `what` and `parameter`
    name estimator, labels and label set in messages. A ValueError if `classes` is None and `y`
    holds no class labels or one class only; if `classes` are no labels, or `y` holds another.
    """
    if classes is None:
        classes = _several(_label_set(y, what), name, what, parameter)
    else:
        classes = _declared(classes, parameter)
        _check_known(_all_known(y, classes, what), what, parameter, classes)
    return classes, _positions(classes, y)


def encoded_rows(rows: RowSource, classes: Any, name: str, what: str = "y",
                 parameter: str = "classes") -> tuple[AnyArray, RowSource]:
    """Return the sorted classes, and rows with the index of every label among them as target.

    As `encode_labels` does, of a source.
    """
    if classes is None:
        classes = _several(_joined(rows.each(_labels_here, what)), name, what, parameter)
    else:
        classes = _declared(classes, parameter)
        _check_known(all(rows.each(_known_here, classes, what)), what, parameter, classes)
    return classes, rows.with_targets(partial(_small_positions, classes))


def label_array(labels: Any) -> AnyArray:
    """Return labels as an array in which whole numbers of any size stay whole."""
    array = np.asarray(labels)
    if array.dtype.kind == "f" and not hasattr(labels, "dtype") and array.ndim == 1 and len(
            array) and all(isinstance(label, Integral) for label in labels):
        # NumPy takes them for doubles where one is beyond int64.
        return np.array([*labels], np.uint64 if min(labels) >= 0 else object)
    return array


def _declared(classes: Any, parameter: str) -> IntArray | FloatArray | AnyArray | BoolArray:
    """Return the sorted label set that was declared; a ValueError if it is none."""
    declared = label_array(classes)
    # Not only once one of them occurs in a row.
    fractions = [label for label in np.ravel(declared).tolist()
                 if isinstance(label, (float, np.floating))
                 and not float(label).is_integer()]
    if fractions:
        raise ValueError(f"{parameter}={declared.tolist()!r}: labels are words or whole numbers, "
                         "as others stand for regression targets; number the classes, such as "
                         "[0, 1], or use strings.")
    classes = discreetly(parameter, np.unique, declared)
    if declared.ndim != 1 or len(classes) < 2:
        raise ValueError(f"{parameter}={declared.tolist()!r}: must be a sequence of at least two "
                         "distinct labels, such as [0, 1].")
    return classes


def _several(classes: IntArray | AnyArray | FloatArray | BoolArray, name: str, what: str,
             parameter: str) -> IntArray | AnyArray | BoolArray | FloatArray:
    """Return the label set that was found; a ValueError if there is one label only."""
    if len(classes) < 2:
        raise ValueError(f"{name} needs at least two classes, and {what} holds one class only; "
                         f"declare the label set with {parameter}= if that is as intended.")
    return classes


def _check_known(known: bool, what: str, parameter: str, classes: AnyArray) -> None:
    if not known:
        listed = ", ".join(map(repr, classes[:_MOST_LISTED].tolist()))
        more = ", ..." if len(classes) > _MOST_LISTED else ""
        raise ValueError(f"{what} holds a label outside {parameter}=[{listed}{more}]; declare "
                         "every label that may occur, with its type (1 is not '1'), and drop rows "
                         "with a missing label.")


def _label_set(y: Any, what: str) -> IntArray | AnyArray | BoolArray | FloatArray:
    """Return the sorted labels that occur."""
    if np.ndim(y) == 1 and len(y) and np.asarray(y).dtype.kind == "i":
        # Whole numbers are labels, and mostly few; durations count as such for issubdtype.
        return _whole_numbers(np.asarray(y))
    try:
        discreetly(what, without_warnings, check_classification_targets, y)
        return discreetly(what, np.unique, y)
    except TypeError as error:
        # NumPy's words tell of types that were compared, and not of labels.
        if "'<' not supported" not in str(error):
            raise
    raise ValueError(f"{what} holds labels of several kinds, or a missing one; give labels of one "
                     "kind, and leave out rows without a label.")


def _whole_numbers(y: Any) -> IntArray:
    """Return the sorted whole numbers that occur in an array."""
    low, high = int(y.min()), int(y.max())
    if high - low >= _MOST_COUNTED:
        return np.unique(y)
    counts = sum(np.bincount(y[start:start + _PART].astype(np.int64) - low,
                             minlength=high - low + 1) for start in range(0, len(y), _PART))
    return (np.flatnonzero(counts) + low).astype(y.dtype)


def _joined(
        sets: list[IntArray | AnyArray | FloatArray | BoolArray]
) -> IntArray | AnyArray | FloatArray | BoolArray:
    """Return the sorted union of label sets."""
    first, *others = sets
    return np.unique(np.concatenate(sets)) if others else first


def _labels_here(rows: RowSource, what: str) -> IntArray | AnyArray | BoolArray | FloatArray:
    return _label_set(rows.beside(slice(0, len(rows)))[0], what)


def _known_here(rows: RowSource, classes: IntArray | FloatArray | AnyArray | BoolArray,
                what: str) -> bool:
    return _all_known(rows.beside(slice(0, len(rows)))[0], classes, what)


def _all_known(y: Any, classes: IntArray | FloatArray | AnyArray | BoolArray, what: str) -> bool:
    """Return whether the sorted `classes` hold all labels."""
    parts = (y[start:start + _PART] for start in range(0, len(y), _PART))
    try:
        return discreetly(what, lambda: all(
            bool(np.all(classes[_positions(classes, part)] == part)) for part in parts))
    except TypeError:
        # What cannot be compared with a label is none of them.
        return False


def labels_fact(labels: Any, declared: Any, kind: str = "class", source: str = "y") -> str:
    """Return what is taken as public of a label set, for the certificate.

    `declared` is the set that was given, None where it was taken from the rows, from `source`.
    """
    origin = f"taken from {source}" if declared is None else "declared"
    return f"the set of {len(labels)} {kind} labels ({origin})"


def _small_positions(classes: IntArray | AnyArray | BoolArray | FloatArray, y: Any) -> IntArray:
    """Return what `_positions` does, in few bytes: beside many rows eight each would count."""
    codes = np.empty(len(y), np.min_scalar_type(-len(classes)))
    for start in range(0, len(y), _PART):
        part = slice(start, start + _PART)
        codes[part] = _positions(classes, y[part])
    return codes


def _positions(classes: IntArray | FloatArray | AnyArray | BoolArray, y: Any) -> IntArray:
    """Return the index among the sorted `classes` of every label, which is one of them."""
    codes = np.searchsorted(classes, y)
    return np.minimum(codes, len(classes) - 1, out=codes)

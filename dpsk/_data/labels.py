"""Encode class labels as indices, without quoting a label in an error."""

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


#: Labels per lookup, and the range of integer labels below which they are found by counting.
_PART, _MOST_COUNTED = 1 << 20, 1 << 16
#: Number of declared labels that a message lists at most.
_MOST_LISTED = 10


def encode_labels(
        y: Any, classes: Any, name: str, what: str = "y",
        parameter: str = "classes"
) -> tuple[IntArray | FloatArray | BoolArray | AnyArray, IntArray]:
    """Return the sorted classes, and the index of every label of `y`, shape (n,).

    `classes` is the public label set; None takes it from `y`. `name`, `what` and `parameter` are
    the names of estimator, labels and label set in messages. Raises a ValueError if `classes` is
    None and `y` holds no class labels or one class only, if `classes` is no valid label set, or
    if `y` holds a label outside of it.
    """
    if classes is None:
        classes = _several(_label_set(y, what), name, what, parameter)
    else:
        classes = _declared(classes, parameter)
        _check_known(_all_known(y, classes, what), what, parameter, classes)
    return classes, _positions(classes, y)


def encoded_rows(rows: RowSource, classes: Any, name: str, what: str = "y",
                 parameter: str = "classes") -> tuple[AnyArray, RowSource]:
    """Return the sorted classes, and rows with class indices as targets.

    Works like `encode_labels`, for a source.
    """
    if classes is None:
        classes = _several(_joined(rows.each(_labels_here, what)), name, what, parameter)
    else:
        classes = _declared(classes, parameter)
        _check_known(all(rows.each(_known_here, classes, what)), what, parameter, classes)
    return classes, rows.with_targets(partial(_small_positions, classes))


def label_array(labels: Any) -> AnyArray:
    """Return labels as an array in which integers of any size stay exact."""
    array = np.asarray(labels)
    if array.dtype.kind == "f" and not hasattr(labels, "dtype") and array.ndim == 1 and len(
            array) and all(isinstance(label, Integral) for label in labels):
        # NumPy converts a list of integers to doubles if one of them is beyond int64.
        return np.array([*labels], np.uint64 if min(labels) >= 0 else object)
    return array


def _declared(classes: Any, parameter: str) -> IntArray | FloatArray | AnyArray | BoolArray:
    """Return the sorted declared label set, or raise a ValueError if it is invalid."""
    declared = label_array(classes)
    # Refuse fractions here, and not only if one of them occurs in a row.
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
    """Return the label set, or raise a ValueError if it has fewer than two labels."""
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
        # Integers are always labels. Test the kind: timedelta is a subdtype of integers in NumPy.
        return _whole_numbers(np.asarray(y))
    try:
        discreetly(what, without_warnings, check_classification_targets, y)
        return discreetly(what, np.unique, y)
    except (TypeError, ValueError) as error:
        # These messages name types, and no label.
        if not any(each in str(error) for each in ("'<' not supported", "label type: unknown")):
            raise
    raise ValueError(f"Unknown label type: {what} holds labels of several kinds, or a missing "
                     "one, or objects; leave out rows without a label, and give labels of one "
                     "kind, as '.astype(str)'.")


def _whole_numbers(y: Any) -> IntArray:
    """Return the sorted distinct integers of an array."""
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
        # A value that cannot be compared with the labels is not among them.
        return False


def labels_fact(labels: Any, declared: Any, kind: str = "class", source: str = "y") -> str:
    """Return the public fact about a label set, for the certificate.

    `declared` is the declared label set, or None if it was taken from the rows, from `source`.
    """
    origin = f"taken from {source}" if declared is None else "declared"
    return f"the set of {len(labels)} {kind} labels ({origin})"


def _small_positions(classes: IntArray | AnyArray | BoolArray | FloatArray, y: Any) -> IntArray:
    """Return the result of `_positions` in the smallest integer dtype, to save memory."""
    codes = np.empty(len(y), np.min_scalar_type(-len(classes)))
    for start in range(0, len(y), _PART):
        part = slice(start, start + _PART)
        codes[part] = _positions(classes, y[part])
    return codes


def _positions(classes: IntArray | FloatArray | AnyArray | BoolArray, y: Any) -> IntArray:
    """Return the index of every label in the sorted `classes`, which must hold it."""
    codes = np.searchsorted(classes, y)
    return np.minimum(codes, len(classes) - 1, out=codes)

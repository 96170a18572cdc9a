"""Class labels to indices, without quoting a label in an error."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from dpsk._data.errors import discreetly, without_warnings

__all__ = ["encode_labels", "labels_fact"]


def encode_labels(y, classes, name, what="y", parameter="classes"):
    """Return the sorted classes and the index of every label of `y` among them, int64, shape (n,).

    `classes` is the public label set; None to take it from `y`. `name`, `what` and `parameter`
    name estimator, labels and label set in messages. A ValueError if `classes` is None and `y`
    holds no class labels or one class only; if `classes` are no labels, or `y` holds another.
    """
    if classes is None:
        discreetly(what, without_warnings, check_classification_targets, y)
        classes, codes = discreetly(what, np.unique, y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"{name} needs at least two classes, and {what} holds one class "
                             f"only; declare the label set with {parameter}= if that is as "
                             "intended.")
        return classes, codes.reshape(-1)
    declared = np.asarray(classes)
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
    codes = discreetly(what, _positions, y, classes)
    if codes is None:
        raise ValueError(f"{what} holds a label outside {parameter}=; declare every label that "
                         "may occur.")
    return classes, codes


def labels_fact(labels, declared, kind="class", source="y"):
    """Return what is taken as public of a label set, for the certificate.

    `declared` is the set that was given, None where it was taken from the rows, from `source`.
    """
    origin = f"taken from {source}" if declared is None else "declared"
    return f"the {len(labels)} {kind} labels ({origin})"


def _positions(y, classes):
    """Return the index of every label in the sorted `classes`, or None if one is missing."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return codes if np.all(classes[codes] == y) else None

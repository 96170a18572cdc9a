"""Neighboring tables for estimators that refuse numbers with a single target."""

import numpy as np
from sklearn.base import is_regressor

from dpsk.auditing._tables import Pair, degenerate, targets, under_names

__all__ = ["other_tables"]

_N_SAMPLES = 24


def other_tables(estimator):
    """Return families of pairs to try in turn, one for each kind of input of `fit`.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    families : list of list of Pair
        Numbers with labels, positive numbers, missing values, texts, dicts, categories, one
        column, sets of labels, images, a kernel and several targets. The two tables of a pair
        differ in their first row.
    """
    y = _targets(estimator)
    # Whether labels are required may depend on parameters, so tables with labels are tried too.
    families = [list(degenerate([(0, 1)], 0))] if y is None else []
    families += [[_pair(name, first, rest, y)] for name, (first, rest) in _ROWS.items()]
    families.append([_kernel(y)])
    families += [[pair] for pair in _several_targets()]
    return [[under_names(estimator, pair) for pair in family] for family in families]


def _repeated(*rows):
    return [rows[i % len(rows)] for i in range(_N_SAMPLES)]


def _grid(*shape):
    """Return an array of numbers from 1 to 2 with distinct rows."""
    size = int(np.prod(shape))
    return 1.0 + (np.arange(_N_SAMPLES * size) * 0.618034 % 1.0).reshape(_N_SAMPLES, *shape)


#: By kind of table: the two alternatives of the first row, and the table.
_ROWS = {
    "row of numbers above zero": ((np.array([1.0, 9.0, 1.0]), np.array([9.0, 1.0, 1.0])),
                                  _grid(3)),
    "row with a gap": ((np.array([1.0, 9.0, 1.0]), np.array([np.nan, 9.0, 1.0])), _grid(3)),
    "text": (("a plain text of words", "one secret xylophone of words"),
             _repeated("a plain text of words", "words of another text", "a text of a few words")),
    "dict of features": (({"a": 1.0}, {"secret": 5.0}),
                         _repeated({"a": 1.0, "b": 2.0}, {"b": 1.0})),
    "row of words": ((["a", "x"], ["secret", "x"]), _repeated(["a", "x"], ["b", "y"])),
    "number of one column": ((1.0, 9.0), list(_grid())),
    "row of one column": (([1.0], [9.0]), _grid(1)),
    "label": (("a", "secret"), _repeated("a", "b")),
    "set of labels": ((("a", "b"), ("a", "secret")), _repeated(("a", "b"), ("b", "c"))),
    "image": ((np.zeros((8, 8)), np.ones((8, 8))), _grid(8, 8)),
}


def _pair(name, firsts, rest, y):
    tables = []
    for first in firsts:
        rows = [first, *rest[1:]]
        if isinstance(rest, np.ndarray):
            rows = np.array(rows)
        elif isinstance(first, list):
            rows = np.array(rows, dtype=object)
        tables.append({"X": rows} if y is None else {"X": rows, "y": y})
    return Pair(name, tuple(tables), tables[0]["X"][:6])


def _targets(estimator):
    extremes = targets(estimator)
    if extremes is None:
        return None
    if is_regressor(estimator):
        return 1.0 + np.arange(_N_SAMPLES) % 5
    return np.where(np.arange(_N_SAMPLES) % 2, *extremes[0][::-1])


def _kernel(y):
    """Return a pair of positive definite kernels that differ in row and column 0."""
    kernel = np.eye(_N_SAMPLES) + 1.0
    other = kernel.copy()
    other[0, 1:] = other[1:, 0] = 0.0
    tables = tuple({"X": each} if y is None else {"X": each, "y": y} for each in (kernel, other))
    return Pair("row of a kernel", tables, kernel[:6])


def _several_targets():
    """Yield pairs with several targets per row: one of numbers, one of labels."""
    X = _grid(3)
    numbers = np.column_stack([np.arange(_N_SAMPLES) % 5, np.arange(_N_SAMPLES) % 3]) + 1.0
    labels = (numbers > 2).astype(int)
    for name, y, changed in (("several targets", numbers, [50.0, 1.0]),
                             ("several labels", labels, [1, 1])):
        other, rows = y.copy(), X.copy()
        other[0], rows[0] = changed, [9.0, 1.0, 1.0]
        yield Pair(name, ({"X": X, "y": y}, {"X": rows, "y": other}), X[:6])

"""Validate the arrays of a sparse matrix before compiled code uses them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from typing import Any

    from dpsk._typing import AnyArray, FloatArray, IntArray

__all__ = ["check_cells", "check_structure", "refuse_masked", "without_duplicates"]


def check_structure(what: str, X: Any) -> None:
    """Raise a ValueError for a sparse matrix with indices outside of its shape.

    Compiled code would follow such indices into foreign memory. Masked arrays are refused too;
    other checks are left to other functions. `what` is the name of the matrix in the error, which
    carries no data value.
    """
    refuse_masked(what, X)
    if not sparse.issparse(X):
        return
    if X.ndim != 2:
        raise ValueError(f"{what}: a sparse array of {X.ndim} dimension(s); rows need two.")
    try:
        sizes = all(isinstance(size, (int, np.integer)) and size >= 0 for size in X.shape)
        sound = sizes and _SOUND[X.format](X)
    except Exception:  # arrays of other kinds fail in other ways
        sound = False
    if not sound:
        raise ValueError(f"{what} could not be read: its arrays do not describe a sparse matrix "
                         "of numbers of its shape; build it anew from indices inside of it.")


def refuse_masked(what: str, values: Any) -> None:
    """Raise a TypeError for a masked array, or a list of some, whose mask would be lost."""
    # By type, and not by the mask: whether an entry is missing is private.
    each = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(one, np.ma.MaskedArray) for one in each):
        raise TypeError(f"{what} is a masked array, whose mask would be lost; mark what is "
                        "missing as NaN, such as by '.astype(float).filled(np.nan)', or leave "
                        "those rows out and give '.data'.")


def check_cells(what: str, values: Any, is_numeric: bool) -> None:
    """Raise an error for a masked array, or for dates where numbers are needed."""
    refuse_masked(what, values)
    first = values[0] if isinstance(values, (list, tuple)) and values else values
    dtype = getattr(first, "dtype", None)
    if is_numeric and getattr(dtype, "kind", "O") in "mM":
        raise ValueError(f"{what} is of {dtype}, and not of numbers; convert it, such as to days "
                         "since a public date, and leave out rows without one.")


def without_duplicates(X: Any) -> Any:
    """Return X in canonical CSR format, without changing the caller's matrix."""
    if not sparse.issparse(X):
        return X
    # Build a new matrix on the same arrays, as flags of the caller's matrix may be out of date.
    X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        if not np.isfinite(X.data).all():
            raise ValueError("Input X contains infinity or a value too large for "
                             f"{X.dtype.name}, once entries of the same place are added.")
    return X


def _is_vector(array: IntArray | AnyArray, dtypes: tuple[type[Any], ...]) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype in dtypes


def _are_indices(array: IntArray, stop: int) -> bool:
    """Return whether an array holds int32 or int64 indices in [0, stop)."""
    return _is_vector(array, (np.int32, np.int64)) and bool(
        np.all((array >= 0) & (array < stop)))


def _are_numbers(array: FloatArray | IntArray, ndim: int = 1) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == ndim and array.dtype.kind in "biufc"


def _compressed(X: Any, major: int, minor: int, ndim: int = 1) -> bool:
    if not (_is_vector(X.indptr, (np.int32, np.int64)) and _is_vector(
            X.indices, (np.int32, np.int64)) and _are_numbers(X.data, ndim)):
        return False
    stop = X.indptr[-1]
    return (len(X.indptr) == major + 1 and X.indptr[0] == 0
            and bool(np.all(X.indptr[1:] >= X.indptr[:-1]))
            and stop <= len(X.indices) == len(X.data)
            and _are_indices(X.indices[:stop], minor))


def _rows(X: Any) -> bool:
    return _compressed(X, *X.shape)


def _columns(X: Any) -> bool:
    return _compressed(X, *X.shape[::-1])


def _blocks(X: Any) -> bool:
    height, width = X.data.shape[1:]
    return (X.shape[0] % height == X.shape[1] % width == 0
            and _compressed(X, X.shape[0] // height, X.shape[1] // width, ndim=3))


def _coordinates(X: Any) -> bool:
    return (_are_numbers(X.data) and len(X.row) == len(X.col) == len(X.data)
            and _are_indices(X.row, X.shape[0]) and _are_indices(X.col, X.shape[1]))


def _diagonals(X: Any) -> bool:
    return (_are_numbers(X.data, ndim=2) and len(X.data) == len(X.offsets)
            and _is_vector(X.offsets, (np.int32, np.int64))
            and len(np.unique(X.offsets)) == len(X.offsets)
            and bool(np.all((X.offsets > -X.shape[0]) & (X.offsets < X.shape[1]))))


def _lists(X: Any) -> bool:
    if not all(_is_vector(part, (object,)) and len(part) == X.shape[0]
               and all(isinstance(row, list) for row in part) for part in (X.rows, X.data)):
        return False
    if any(len(row) != len(entries) for row, entries in zip(X.rows, X.data, strict=True)):
        return False
    columns = list(chain.from_iterable(X.rows))
    return all(isinstance(column, (int, np.integer)) and 0 <= column < X.shape[1]
               for column in columns) and _are_numbers(
        np.array(list(chain.from_iterable(X.data)), dtype=X.dtype))


def _keys(X: Any) -> bool:
    return all(len(key) == 2 for key in X.keys()) and _coordinates(X.tocoo())


#: Functions that check the arrays of a matrix, by its format.
_SOUND = {"csr": _rows, "csc": _columns, "bsr": _blocks, "coo": _coordinates,
          "dia": _diagonals, "lil": _lists, "dok": _keys}

"""Map the numbers of a table, and keep its kind."""

from __future__ import annotations

import math
from numbers import Number
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import AnyArray

__all__ = ["with_entries"]


def with_entries(X: Any, function: Callable[[AnyArray], AnyArray], places: Any = None,
                 is_all: bool = False) -> Any:
    """Return a table like X whose numbers are those of ``function``, which keeps 0.

    Parameters
    ----------
    X : table
    function : callable, ndarray -> ndarray
    places : list of int or None
        The columns that are mapped; None: all.
    is_all : bool
        Whether columns of objects and strings, such as nullable booleans, are mapped where they
        hold numbers.
    """
    if sparse.issparse(X):
        X = X.tocoo(copy=True)
        there = slice(None) if places is None else np.isin(X.col, places)
        values = function(X.data[there])
        X.data = X.data.astype(values.dtype)
        X.data[there] = values
        return X.tocsr()
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        for place in range(X.shape[1]) if places is None else places:
            values = _of_column(X.iloc[:, place], is_all)
            if values is not None:
                X.isetitem(place, function(values))
        return X
    values = np.asarray(X)
    if is_all and values.dtype.kind in "OSU":
        values = _converted(values)
    if values is None or values.dtype.kind not in "fi":
        return X
    if places is None:
        values = function(values)
    else:
        found = function(values[:, places])
        values = values.astype(found.dtype)
        values[:, places] = found
    # Frames of Polars have no index.
    return type(X)(values, schema=list(X.columns)) if hasattr(X, "columns") else values


def _of_column(column, is_all):
    """Return the numbers of a column of a frame; None if it has other values."""
    kind = column.dtype.kind
    if isinstance(column.dtype, np.dtype) and kind != "O":
        return column.to_numpy() if kind in "fi" else None
    if kind in "fi":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _converted(column.to_numpy(dtype=object)) if is_all else None


def _converted(cells):
    """Return cells as float64; None if one is neither a number nor missing."""
    try:
        return np.vectorize(_number, otypes=[np.float64])(cells)
    except (TypeError, ValueError):
        return None


def _number(cell):
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except (TypeError, ValueError):
        # Missing cells of pandas are no numbers.
        if cell is None or type(cell).__name__ in ("NAType", "NaTType") or isinstance(
                cell, Number):
            return math.nan
        raise

"""Map the numbers of a table, and keep its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dpsk._data.cells import as_cells, is_numeric
from dpsk._data.polars_frames import PolarsFrame, is_polars

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpsk._typing import AnyArray

__all__ = ["WithoutNA", "with_entries"]


class WithoutNA:
    """Function whose frames hold NaN in place of pd.NA, as a dtype of NumPy or objects.

    The dtype of a column decides, and not its cells.

    Parameters
    ----------
    given : callable or None
        Makes the table; None: it is given.
    """

    def __init__(self, given: Callable[..., Any] | None = None) -> None:
        self.given = given

    def __repr__(self) -> str:
        return f"WithoutNA({'' if self.given is None else self.given})"

    def __call__(self, X: Any, **params: Any) -> Any:
        """Return the table that is made of X."""
        X = X if self.given is None else self.given(X, **params)
        if len(np.shape(X)) != 2 or not hasattr(X, "iloc"):
            return X
        X = X.copy(deep=False)
        for place, dtype in enumerate(X.dtypes):
            if type(getattr(dtype, "na_value", None)).__name__ == "NAType":
                kind = np.float64 if is_numeric(dtype) else object
                X.isetitem(place, X.iloc[:, place].to_numpy(kind, na_value=np.nan))
        return X


def with_entries(X: Any, function: Callable[[AnyArray], AnyArray], places: Any = None) -> Any:
    """Return a table like X whose entries are those of ``function``, which keeps 0.

    Booleans, and what is not a table, stay.

    Parameters
    ----------
    X : table
    function : callable, ndarray -> ndarray
        Takes numbers, or objects: cells of columns of other dtypes, such as nullable booleans.
    places : list of int or None
        The columns that are mapped; None: all.
    """
    if len(np.shape(X)) != 2 or (sparse.issparse(X) and X.dtype.kind not in "fi"):
        return X
    if sparse.issparse(X):
        X = X.tocoo(copy=True)
        there = slice(None) if places is None else np.isin(X.col, places)
        values = function(X.data[there])
        X.data = X.data.astype(values.dtype)
        X.data[there] = values
        return X.tocsr()
    if hasattr(X, "iloc") or is_polars(X):
        return _of_frame(X, function, range(X.shape[1]) if places is None else places)
    values = np.asarray(X)
    if values.dtype.kind in "SUT":
        values = values.astype(object)
    elif values.dtype.kind not in "fiO":
        return X
    if places is None:
        return function(values)
    found = function(values[:, places])
    values = values.astype(np.result_type(values, found))
    values[:, places] = found
    return values


def _of_frame(X, function, places):
    """Return the same of a frame, column by column."""
    if is_polars(X):
        X, frame = X.clone(), PolarsFrame(X)
    else:
        X = frame = X.copy(deep=False)
    for place in places:
        values = _of_column(frame.iloc[:, place], list(frame.dtypes)[place])
        if values is None:
            continue
        values = function(values)
        if frame is X:
            X.isetitem(place, values)
        else:
            old = X.to_series(place)
            dtype = {"dtype": old.dtype, "strict": False} if values.dtype.kind == "O" else {}
            X.replace_column(place, type(old)(old.name, values.tolist(), **dtype))
    return X


def _of_column(column, dtype):
    """Return the numbers or objects of a column of a frame; None if they stay."""
    kind = getattr(dtype, "kind", "O")
    # Other columns may hold missing values that are no NaN.
    is_plain = isinstance(getattr(column, "dtype", None), np.dtype)
    if kind in "mMc" or (is_plain and kind in "ub"):
        return None
    if kind in "fi":
        return column.to_numpy(dtype=dtype if is_plain else np.float64, na_value=np.nan)
    return as_cells(column.tolist())

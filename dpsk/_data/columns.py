"""Public descriptions of table columns: numeric with bounds, or categorical."""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from scipy import sparse

from dpsk._data.errors import discreetly

__all__ = ["LEAST_WIDTH", "Column", "bin_edges", "check_columns", "described", "encoded",
           "is_frame", "refuse_dates", "refuse_twins"]


#: Least distance of two bounds: maps to [-1, 1] divide by half of it.
LEAST_WIDTH = 1e-100


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table; everything here is public.

    Parameters
    ----------
    name : str or int
    dtype : dtype
        Dtype of synthetic values of the column; a pandas dtype if the table is a DataFrame.
    categories : list or None
        None for a numeric column.
    edges : tuple of float or None
        Bounds of the numbers, or bin edges if more than two; None if unknown.
    declared : bool
        Whether the user declared the column; otherwise its description follows from the dtype.
    """

    name: object
    dtype: object
    categories: list | None = None
    edges: tuple | None = None
    declared: bool = True

    @property
    def is_whole(self):
        """bool : whether the column has an integer dtype."""
        return getattr(self.dtype, "kind", "O") in "iu"

    @property
    def choices(self):
        """ndarray of shape (n_categories,) : the categories, objects unless all numeric."""
        if all(isinstance(each, Real) for each in self.categories):
            return np.array(self.categories)
        result = np.empty(len(self.categories), dtype=object)
        result[:] = self.categories
        return result

    @property
    def limits(self):
        """(float, float) : the range of numbers that the dtype can hold."""
        kind = getattr(self.dtype, "kind", "O")
        if kind not in "iuf":
            return -np.inf, np.inf
        # pandas dtypes have NumPy's kinds and item sizes; sparse dtypes have a subtype.
        held = np.dtype(f"{kind}{getattr(self.dtype, 'subtype', self.dtype).itemsize}")
        info = np.finfo(held) if kind == "f" else np.iinfo(held)
        low, high = float(info.min), float(info.max)
        # The largest int64 is not representable as a double.
        return low, np.nextafter(high, low) if high > info.max else high

    @property
    def is_unknown(self):
        """bool : whether the column is numeric without known bounds."""
        return self.categories is None and self.edges is None

    def bounded(self, bounds):
        """Return this column, with `bounds` if it is numeric without known bounds."""
        return replace(self, edges=bounds, declared=False) if self.is_unknown else self


def is_frame(X):
    """Return whether X is a pandas DataFrame."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def refuse_dates(X, kinds="mM"):
    """Raise a ValueError if a column holds dates, which NumPy converts to numbers.

    `kinds` are the kinds of the dtypes to refuse.
    """
    dtypes = zip(X.columns, X.dtypes, strict=True) if is_frame(X) else [
        (None, getattr(X, "dtype", None))]
    for name, dtype in dtypes:
        if getattr(dtype, "kind", "O") in kinds:
            where = "X" if name is None else f"X: column {name!r}"
            raise ValueError(f"{where} is of {dtype}, neither numbers nor categories; convert it, "
                             "such as to days since a public date, or leave it out.")


def refuse_twins(X):
    """Raise a ValueError if two columns have the same name."""
    if is_frame(X) and not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()].tolist()[0]
        raise ValueError(f"X has several columns {twice!r}; give every column a name of its own.")


def check_columns(name, value):
    """Raise a ValueError unless `value` is None or a valid dict of columns."""
    remedy = ("must be None, or a dict from columns to lists of categories, or to tuples of "
              "increasing numbers: bounds, or edges of bins, such as {'age': (17, 90)}")
    if value is None:
        return
    if not isinstance(value, dict):
        raise ValueError(f"{name}={value!r}: {remedy}.")
    for column, given in value.items():
        sound = (isinstance(given, tuple) and _are_edges(given)) or (
            isinstance(given, list) and _are_categories(given))
        if not sound:
            raise ValueError(f"{name}: {column!r} has {given!r}; {remedy}.")


def described(X, columns):
    """Return the `Column` of every column of X, from its declarations and dtypes.

    Raises a ValueError if a declared column does not exist, if two columns have the same name, or
    if a column is neither numeric nor declared.
    """
    columns = {} if columns is None else columns
    if is_frame(X):
        refuse_twins(X)
        kinds = list(zip(X.columns, X.dtypes, strict=True))
    else:
        array = X if hasattr(X, "dtype") else discreetly("X", np.asarray, X)
        width = array.shape[1] if getattr(array, "ndim", 0) == 2 else 0
        # The dtype of a list depends on its entries, which are private: one string makes all of
        # them strings. So does the item size of a string array, which is that of the longest.
        public = array is X and getattr(array.dtype, "kind", "U") not in "US"
        dtype = array.dtype if public else np.dtype(object)
        kinds = [(place, dtype) for place in range(width)]
    unknown = [name for name in columns if name not in [known for known, _ in kinds]]
    if unknown and kinds:
        raise ValueError(f"columns has {unknown[0]!r}, which is no column; use the names of a "
                         "DataFrame, or positions in an array.")
    found = [_column(name, dtype, columns.get(name)) for name, dtype in kinds]
    words = [column for column in found if column.is_unknown and is_frame(X)
             and getattr(column.dtype, "kind", "O") not in "iuf"]
    if words:
        raise ValueError(f"columns: column {words[0].name!r} is neither numeric nor declared; "
                         "declare the list of its categories, or convert it.")
    return found


def encoded(X, columns):
    """Return X with every category replaced by its index; numeric columns stay.

    Raises a ValueError, which does not quote the value, if a category was not declared.
    """
    # Sparse matrices are refused later.
    if sparse.issparse(X) or not any(column.categories is not None for column in columns):
        return X
    if is_frame(X):
        result = X.copy(deep=False)
        for place, column in enumerate(columns):
            if column.categories is not None:
                result.isetitem(place, _positions(X.iloc[:, place], column))
        return result
    parts = [np.asarray(X)[:, place] for place in range(len(columns))]
    return np.column_stack([part if column.categories is None else _positions(part, column)
                            for part, column in zip(parts, columns, strict=True)])


def bin_edges(low, high, n_bins, whole):
    """Return the edges of bins of equal width between bounds, float64.

    Edges of whole numbers lie midway between two of them, so that every bin contains at least one.
    """
    if not whole:
        return np.linspace(low, high, n_bins + 1)
    low, high = np.ceil(low) - 0.5, np.floor(max(high, np.ceil(low))) + 0.5
    return np.round(np.linspace(low, high, int(min(n_bins, high - low)) + 1) - 0.5) + 0.5


def _column(name, dtype, given):
    # A declaration overrides the categories of the dtype, which may have been found in the rows.
    if isinstance(given, list):
        _refuse_kind(name, dtype, given)
        if hasattr(dtype, "categories"):
            dtype = type(dtype)(given, ordered=dtype.ordered)
        return Column(name, dtype, categories=given)
    if given is not None:
        if hasattr(dtype, "categories") or getattr(dtype, "kind", "O") == "b":
            dtype = np.dtype(np.float64)
        return Column(name, dtype, edges=tuple(float(edge) for edge in given))
    if hasattr(dtype, "categories"):
        return Column(name, dtype, categories=list(dtype.categories), declared=False)
    if getattr(dtype, "kind", "O") == "b":
        return Column(name, dtype, categories=[False, True], declared=False)
    return Column(name, dtype)


def _refuse_kind(name, dtype, categories):
    """Raise a ValueError if no cell of a dtype can equal one of the categories."""
    words = any(isinstance(each, (str, bytes)) for each in categories)
    if words and getattr(dtype, "kind", "O") in "biuf":
        raise ValueError(f"columns: {name!r} has words for categories, but X has a column of "
                         f"{dtype}, where no cell is a word; declare numbers, such as 150 for "
                         "'150', or convert the column by '.astype(str)'.")
    if getattr(dtype, "type", None) is str and any(
            isinstance(each, Real) and each == each for each in categories):
        raise ValueError(f"columns: {name!r} has numbers for categories, but X has a column of "
                         f"{dtype}, where every cell is a word; declare words, such as '150' for "
                         "150, or convert the column to numbers.")


def _positions(values, column):
    """Return the index of every value among the categories of its column, float64."""
    places = {category: float(place) for place, category in enumerate(column.categories)}

    def found():
        return np.array([places.get(value, -1.0) for value in values.tolist()])

    result = discreetly("X", found)
    if (result < 0).any():
        raise ValueError(f"X: column {column.name!r} holds a value outside of its categories; "
                         "declare every category that may occur in columns=, and give missing "
                         "values one of their own.")
    return result


def _are_edges(edges):
    try:
        numbers = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return numbers.ndim == 1 and len(numbers) > 1 and bool(
        np.all(np.abs(numbers) <= 1e30) and np.all(np.diff(numbers) >= LEAST_WIDTH))


def _are_categories(categories):
    try:
        return len(categories) > 0 and len(set(categories)) == len(categories)
    except TypeError:
        return False

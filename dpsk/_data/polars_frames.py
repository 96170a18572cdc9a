"""Adapter through which `tables` reads polars DataFrames like those of pandas."""

import re

import numpy as np

__all__ = ["PolarsFrame", "is_polars"]

_DATES = {"Date", "Datetime", "Duration", "Time"}
_WORDS = {"String", "Utf8", "Categorical"}
_NUMBERS = re.compile("U?Int(8|16|32|64)|Float(32|64)")


def is_polars(X):
    """Return whether X is a polars DataFrame or LazyFrame."""
    return type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "collect_schema")


class PolarsFrame:
    """A polars DataFrame with the interface that `tables` needs: names, dtypes, cells.

    The kind of a column depends on its dtype only, and the reading of a cell on no other cell. For
    example, integers that are categories do not become floats if another cell is missing. The
    categories of an ``Enum`` are public, as part of its dtype; a ``Categorical`` finds them in
    the rows.

    Parameters
    ----------
    frame : polars.DataFrame
    """

    def __init__(self, frame):
        if not hasattr(frame, "to_series"):
            raise TypeError("X is not in memory; must be a DataFrame. Use '.collect()'.")
        self.columns = _Names(frame.columns)
        self.dtypes = [_dtype(*each) for each in zip(frame.columns, frame.dtypes, strict=True)]
        self.shape = frame.shape
        self._frame = frame

    @property
    def iloc(self):
        """object : this frame, so that ``frame.iloc[:, place]`` returns a column."""
        return self

    def __getitem__(self, key):
        return _Cells(self._frame.to_series(key[1]))


class _Names(list):
    """Names of columns, which are unique in polars."""

    is_unique = True


class _Categories:
    """A categorical dtype with the attributes of pandas' one."""

    kind = "O"

    def __init__(self, categories, ordered=False):
        self.categories, self.ordered = list(categories), ordered

    def __repr__(self):
        return f"Enum({self.categories!r})"


class _Cells:
    """Cells of a column, as an array of numbers or as Python objects."""

    def __init__(self, series):
        self._series, self._list = series, None

    def to_numpy(self, dtype, na_value):
        """Return an array of numbers; polars converts missing values to NaN."""
        return np.asarray(self._series.to_numpy(), dtype=dtype)

    def tolist(self):
        """Return a list of Python objects, with None for missing values."""
        if self._list is None:
            self._list = self._series.to_list()
        return self._list

    def __len__(self):
        return len(self._series)


def _dtype(name, dtype):
    """Return the NumPy dtype or `_Categories` for a polars dtype."""
    kind = str(dtype).partition("(")[0]
    if kind in _DATES:
        return np.dtype("m8[us]" if kind in ("Duration", "Time") else "M8[us]")
    if kind in _WORDS:
        return np.dtype(object)
    if kind == "Enum":
        return _Categories(dtype.categories)
    if kind == "Boolean":
        return np.dtype(bool)
    if kind in ("Decimal", "Null"):
        return np.dtype(np.float64)
    if _NUMBERS.fullmatch(kind):
        return np.dtype(kind.lower())
    raise ValueError(f"X: column {name!r} is of {kind}, neither numbers nor words; convert it, or "
                     "leave it out.")

"""Data frames of polars as `tables` reads those of pandas: every cell by itself."""

import re

import numpy as np

__all__ = ["PolarsFrame", "is_polars"]

_DATES = {"Date", "Datetime", "Duration", "Time"}
_WORDS = {"String", "Utf8", "Categorical"}
_NUMBERS = re.compile("U?Int(8|16|32|64)|Float(32|64)")


def is_polars(X):
    """Return whether rows come in a data frame of polars, lazy or not."""
    return type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "collect_schema")


class PolarsFrame:
    """A frame of polars as tables ask for it: names, dtypes, and the cells of a column.

    Kinds follow from dtypes alone, and how a cell is read from no other cell: what is missing in
    a column makes no floats of its whole numbers where these are categories. The categories of an
    ``Enum`` are public, as its dtype holds them; those of a ``Categorical`` are of the rows.

    Parameters
    ----------
    frame : polars.DataFrame
    """

    def __init__(self, frame):
        self.columns = _Names(frame.columns)
        self.dtypes = [_dtype(*each) for each in zip(frame.columns, frame.dtypes, strict=True)]
        self.shape = frame.shape
        self._frame = frame

    @property
    def iloc(self):
        """object : this frame, ``frame.iloc[:, place]`` a column."""
        return self

    def __getitem__(self, key):
        return _Cells(self._frame.to_series(key[1]))


class _Names(list):
    """Names of columns, which polars has only once each."""

    is_unique = True


class _Categories:
    """A dtype with categories, as that of pandas has them."""

    kind = "O"

    def __init__(self, categories, ordered=False):
        self.categories, self.ordered = list(categories), ordered

    def __repr__(self):
        return f"Enum({self.categories!r})"


class _Cells:
    """Cells of a column, as numbers or one by one."""

    def __init__(self, series):
        self._series, self._list = series, None

    def to_numpy(self, dtype, na_value):
        """Return an array of numbers; polars has NaN where one is missing."""
        return np.asarray(self._series.to_numpy(), dtype=dtype)

    def tolist(self):
        """Return a list of Python's objects, None where one is missing."""
        if self._list is None:
            self._list = self._series.to_list()
        return self._list

    def __getitem__(self, place):
        return self.tolist()[place]

    def __len__(self):
        return len(self._series)


def _dtype(name, dtype):
    """Return a dtype of NumPy's for one of polars, or one with categories."""
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

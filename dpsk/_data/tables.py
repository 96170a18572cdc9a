"""Read tables of numbers and categories from a DataFrame or an array, as float64.

Numbers stay, and missing numbers become NaN. A category becomes its index among the categories of
its column. Unknown and missing categories become -1.
"""

import zlib
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, _check_n_features

from dpsk._data.cells import (
    factorized,
    is_missing,
    is_numeric,
    is_word,
    looked_up,
    numbers_of,
    occurring,
    plain,
)
from dpsk._data.columns import described, is_frame, refuse_dates, refuse_twins
from dpsk._data.errors import discreetly
from dpsk._data.polars_frames import PolarsFrame, is_polars
from dpsk._data.structure import refuse_masked
from dpsk._data.validation import is_dask, refuse_source

__all__ = ["Buckets", "Table", "read_next_table", "read_table"]


@dataclass(frozen=True)
class Buckets:
    """Public hash buckets for the unknown categories of a column.

    Integers, and strings of digits, are hashed by their remainder, other cells by a checksum.

    Parameters
    ----------
    count : int
    named : tuple
        Categories that keep their own index, before the buckets.
    kept : tuple of int or None
        Buckets that keep their own index; None keeps all.
    """

    count: int
    named: tuple = ()
    kept: tuple | None = None

    def __len__(self):
        return len(self.named) + len(self._shown)

    def __iter__(self):
        names = [f"bucket {place}" for place in self._shown]
        while set(names) & set(self.named):
            names = [f"{name}_" for name in names]
        return iter([*self.named, *names])

    @property
    def _shown(self):
        return range(self.count) if self.kept is None else self.kept

    def places(self, cells):
        """Return the indices of plain cells or of their buckets, -1 where one is not kept.

        Cells that are neither words nor numbers have none.
        """
        named = {cell: place for place, cell in enumerate(self.named)}
        shown = {bucket: place for place, bucket in enumerate(self._shown, len(named))}
        return [named[cell] if cell in named else
                shown.get(self._bucket(cell), -1) if is_word(cell) else -1 for cell in cells]

    def _bucket(self, cell):
        if isinstance(cell, int):
            # Avoid the conversion to a string, which Python refuses for very long integers.
            return cell % self.count
        text = cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogatepass")
        try:
            # A float is no integer here, and exceptions take time.
            return (zlib.crc32(text) if isinstance(cell, float) else int(text)) % self.count
        except ValueError:
            return zlib.crc32(text) % self.count


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read.

    Parameters
    ----------
    values : ndarray of float64, shape (n, n_columns)
        Sensitive.
    columns : list of Column
        Public; undeclared categorical columns have an empty list of categories.
    found : list of (list or None)
        Sensitive: for every undeclared categorical column, the categories that occur, in canonical
        order. None for other columns.
    """

    values: np.ndarray
    columns: list
    found: list

    def rows(self, indices):
        """Return the table of some rows, with the categories that occur in these rows."""
        values, found = self.values[indices], list(self.found)
        for place, names in enumerate(found):
            if names is not None:
                codes = values[:, place].astype(np.intp)
                kept = np.unique(codes[codes >= 0])
                places = np.full(len(names) + 1, -1.0)
                places[kept] = np.arange(len(kept))
                values[:, place] = places[codes]
                found[place] = [names[each] for each in kept]
        return Table(values, self.columns, found)

    def hashed(self, count):
        """Return the table with undeclared categories hashed into `count` buckets."""
        values, buckets = self.values.copy(), Buckets(count)
        for place, found in enumerate(self.found):
            if found is not None:
                codes = np.array([*buckets.places(found), -1], dtype=np.float64)
                values[:, place] = codes[values[:, place].astype(np.intp)]
        columns = [column if found is None else replace(column, categories=buckets)
                   for column, found in zip(self.columns, self.found, strict=True)]
        return Table(values, columns, [None] * len(columns))

    def known(self, kept, buckets=()):
        """Return the columns with kept categories as declared ones.

        `kept` maps column indices to indices of categories or of hash buckets. `buckets` maps
        column indices to a number of buckets, into which other categories are hashed.
        """
        def categories(place, column):
            if self.found[place] is None:
                return replace(column.categories, kept=tuple(kept[place].tolist()))
            named = [self.found[place][each] for each in kept[place]]
            return Buckets(buckets[place], tuple(named)) if place in buckets else named

        return [column if place not in kept else
                replace(column, categories=categories(place, column))
                for place, column in enumerate(self.columns)]


def read_table(estimator, X, declared, only=None):
    """Return training rows as a `Table`, and set the number and names of features.

    `declared` describes columns, in the form that `check_columns` accepts. With ``only="numbers"``
    all columns must be numeric, and booleans are 0 and 1. With ``only="words"`` all columns are
    categorical, also numeric ones. Raises a ValueError, which quotes no value, if the kind of a
    column is unknown.
    """
    foreign = hasattr(X, "__dataframe__") and not (is_frame(X) or is_polars(X))
    X = _as_rows(estimator, X, reset=True)
    columns = _kinds(X, declared, only)
    if foreign and any(column.categories is not None for column in columns):
        # One missing value may turn integers into floats, which can merge two long integers.
        raise TypeError(f"X is a table of another library, whose cells may follow from those of "
                        f"other rows; {type(estimator).__name__} finds categories in a DataFrame "
                        "of pandas, or in an array. Use '.to_pandas()'.")
    # Mechanisms read a table column by column.
    values, found = np.empty(X.shape, order="F"), [None] * len(columns)
    for place, column in enumerate(columns):
        if column.categories == []:
            values[:, place], found[place] = occurring(_cells(X, place), column)
        else:
            values[:, place] = _values(_cells(X, place), column)
    return Table(values, columns, found)


def read_next_table(estimator, X, columns):
    """Return rows of an already known table as numbers and category indices, float64."""
    X = _as_rows(estimator, X, reset=False)
    values = np.empty(X.shape)
    for place, column in enumerate(columns):
        values[:, place] = _values(_cells(X, place), column)
    return values


def _as_rows(estimator, X, reset):
    """Return X as a DataFrame or 2D array, and check its size and feature names."""
    name = type(estimator).__name__
    if sparse.issparse(X):
        raise TypeError(f"X is a sparse matrix; {name} takes tables of columns. Use "
                        "'.toarray()', or give sparse rows to a linear model.")
    refuse_source("X", X)
    refuse_masked("X", X)
    if is_dask(X) and is_frame(X):
        raise TypeError(f"X is not in memory; {name} takes a DataFrame of pandas, or an array. "
                        "Use '.compute()', or give it to a linear model.")
    given = X
    if is_polars(X):
        X = PolarsFrame(X)
    if is_frame(X):
        refuse_twins(X)
        refuse_dates(X, "mMc")
    else:
        X = discreetly("X", _as_array, X, name)
    least = 2 if reset else 1
    if X.shape[0] < least:
        raise ValueError(f"Found array with {X.shape[0]} sample(s) (shape={tuple(X.shape)}) while "
                         f"a minimum of {least} is required by {name}.")
    if X.shape[1] < 1:
        raise ValueError(f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum "
                         f"of 1 is required by {name}.")
    _check_feature_names(estimator, given, reset=reset)
    _check_n_features(estimator, X, reset=reset)
    return X


def _as_array(X, name):
    # NumPy derives the dtype of a list from all entries, which are private. One string makes
    # strings of all entries, and one missing value makes floats of another library's integers.
    array = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    with config_context(array_api_dispatch=False):
        array = check_array(array, dtype=None, ensure_all_finite=False, ensure_min_samples=0,
                            ensure_min_features=0, estimator=name)
    if array.dtype.kind in "mM":
        raise TypeError("float() argument must be a string or a real number, not "
                        f"'{array.dtype.type.__name__}'")
    return array


def _kinds(X, declared, only):
    """Return every `Column`; undeclared categorical columns get [] as categories."""
    words, declared = {}, declared or {}
    kinds = list(zip(X.columns, X.dtypes, strict=True)) if is_frame(X) else [
        (place, X.dtype) for place in range(X.shape[1])] if only else []
    truths = [name for name, dtype in kinds if getattr(dtype, "kind", "O") == "b"]
    if only == "numbers":
        declared = {**dict.fromkeys(truths, (0.0, 1.0)), **declared}
    for name, dtype in kinds:
        known = name in declared or hasattr(dtype, "categories") or name in truths
        if not known and (only == "words" or (is_frame(X) and not is_numeric(dtype))):
            words[name] = [None]
    columns = [replace(column, categories=[]) if column.name in words else column
               for column in described(X, {**declared, **words})]
    for column in columns:
        _check_only(column, only)
    if is_frame(X):
        return columns
    # The dtype of an array may come from a list and so depend on entries; values are read as
    # doubles anyway.
    return [replace(column, dtype=np.dtype(np.float64)) for column in columns]


def _check_only(column, only):
    """Raise a ValueError if a column is not of the only kind that is accepted."""
    if only == "numbers" and column.categories is not None:
        raise ValueError(f"X: column {column.name!r} is not of numbers; leave it out, convert it, "
                         "or use DPTableVectorizer, which takes words too.")
    if only == "words" and column.categories is None:
        raise ValueError(f"columns: {column.name!r} has bounds or knots, but its numbers are "
                         "categories here; declare a list of them, or use DPTableVectorizer.")


def _cells(X, place):
    return X.iloc[:, place] if is_frame(X) else X[:, place]


def _values(cells, column):
    """Return the numbers or category indices of a column, float64."""
    return numbers_of(cells, column) if column.categories is None else _positions(cells, column)


def _positions(cells, column):
    """Return the index of every cell among the categories, -1 for unknown ones."""
    (codes, found), missing = factorized(cells, column), -1
    if isinstance(column.categories, Buckets):
        known = looked_up(column, lambda: column.categories.places(found))
    else:
        places = {plain(category): place for place, category in enumerate(column.categories)}
        known = looked_up(column, lambda: [places.get(cell, -1) for cell in found])
        # If one of None, NaN and NA is declared, it represents all missing values.
        missing = next((place for category, place in places.items() if is_missing(category)), -1)
    return np.array([*known, missing], dtype=np.float64)[codes]

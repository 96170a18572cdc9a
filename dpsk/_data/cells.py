"""Read the cells of a column: as numbers, or as the index of each among the distinct ones.

Behind a private step no cell is refused, as the refusal would compare it exactly with what that
step has learned. There a cell that is neither a word nor a number, or no number where one is
needed, counts as missing, and an infinite number as the largest one.
"""

import math
from decimal import Decimal
from numbers import Integral, Real

import numpy as np
from sklearn import config_context

from dpsk._data.errors import discreetly, without_warnings
from dpsk._warnings import follows_private_step

__all__ = ["as_cells", "as_numbers", "factorized", "is_missing", "is_numeric", "is_word",
           "looked_up", "numbers_of", "occurring", "plain"]

#: Names of the types of missing values that are no numbers.
_MISSING = ("NoneType", "NAType", "NaTType")
#: Remedies for words in an array.
_WORDS = (" Convert it, or leave it out; DPTableVectorizer and models of tables take words, as "
          "declared categories or in a DataFrame with a dtype for each column.")


def numbers_of(cells, column):
    """Return the cells of a numeric column, with NaN for missing values."""
    if follows_private_step():
        return _finite(cells, column)

    values = refusal = None
    try:
        values = discreetly(f"X: column {column.name!r}", _doubles, cells)
    except TypeError as error:
        refusal = TypeError(f"X: column {column.name!r} is not of numbers: {error}")
    except ValueError as error:
        in_array = str(error).endswith("must be numeric.") and not hasattr(cells, "to_numpy")
        refusal = ValueError(str(error) + _WORDS * in_array)
    if refusal is not None:
        raise refusal
    if np.isinf(values).any():
        raise ValueError(f"X: column {column.name!r} contains infinity or a value too large for "
                         "dtype('float64').")
    return values


def _doubles(cells):
    with config_context(assume_finite=False):
        if hasattr(cells, "to_numpy"):
            return cells.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(cells, dtype=np.float64)


def _finite(cells, column):
    """Return any cells as finite numbers or NaN, each by itself."""
    if is_numeric(getattr(cells, "dtype", column.dtype)):
        values = discreetly("X", _doubles, cells)
    else:
        values = without_warnings(as_numbers, as_cells(cells.tolist()))
    most = np.finfo(np.float64).max
    return np.clip(values, -most, most)


def as_cells(objects):
    """Return an array of objects, each of which may be a list."""
    found = np.empty(len(objects), object)
    for place, each in enumerate(objects):
        found[place] = each
    return found


def as_numbers(cells):
    """Return an array of any cells as float64, NaN where one is no number."""
    return np.vectorize(_number, otypes=[np.float64])(cells)


def _number(cell):
    try:
        try:
            return float(cell)
        except OverflowError:
            return math.inf if cell > 0 else -math.inf
    except Exception:  # whatever the conversion of a cell raises
        return math.nan


def is_numeric(dtype):
    """Return whether a dtype is one of numbers or of booleans."""
    return getattr(dtype, "kind", "O") in "biuf"


def occurring(cells, column):
    """Return the index of every cell among all that occur, -1 if missing, and these in order."""
    codes, found = factorized(cells, column, is_word)
    if _has_numbers(cells):
        return codes, found
    if not all(map(is_word, found)):
        raise ValueError(f"X: column {column.name!r} holds a cell that is neither a word nor a "
                         "number; convert the column to one of them.")
    ordered = sorted(set(found), key=_canonical)
    places = {cell: place for place, cell in enumerate(ordered)}
    return np.array([*map(places.get, found), -1])[codes], ordered


def _has_numbers(cells):
    # Dtypes of pandas may hold missing values that are no NaN.
    dtype = getattr(cells, "dtype", None)
    return isinstance(dtype, np.dtype) and is_numeric(dtype)


def _distinct_numbers(numbers):
    """Return the same as `factorized` for an array; distinct numbers are in canonical order."""
    if numbers.dtype.kind == "f":
        numbers = numbers.astype(np.float64)
    found, codes = np.unique(numbers, return_inverse=True)
    found = found[found == found]
    whole = np.isfinite(found) & (np.rint(found) == found) | (numbers.dtype.kind != "f")
    order = np.argsort(whole, kind="stable")
    places = np.full(len(found) + 1, -1)
    places[order] = np.arange(len(found))
    return places[codes], found[~whole].tolist() + [int(each) for each in found[whole].tolist()]


def factorized(cells, column, is_taken=lambda cell: True):
    """Return the index of every cell among distinct plain cells, -1 if missing, and these.

    Behind a private step, plain cells for which `is_taken` is false are missing.
    """
    if _has_numbers(cells):
        return _distinct_numbers(np.asarray(cells))
    if follows_private_step():
        cells = _taken(cells, is_taken)

    def found():
        codes, distinct = _factorize(cells)
        return codes, [plain(cell) for cell in distinct]

    return looked_up(column, found)


def _taken(cells, is_taken):
    """Return cells with None for those that are not taken, and for those without a hash."""
    def taken(cell):
        try:
            hash(cell)
            return cell if is_taken(plain(cell)) else None
        except Exception:  # whatever the hash of a cell raises
            return None

    # Columns of strings hold no others, and a look at types takes less time than one at cells.
    known = [] if getattr(getattr(cells, "dtype", None), "type", None) is str else cells.tolist()
    if all(issubclass(kind, (str, bytes, int, float)) or kind.__name__ in _MISSING
           for kind in set(map(type, known))):
        return cells
    return as_cells(list(map(taken, known)))


def looked_up(column, function):
    """Return ``function()``, which looks cells up, without a cell in its errors."""
    try:
        return function()
    except Exception:  # whatever the hash of a cell raises
        pass
    raise ValueError(f"X: column {column.name!r} holds a cell that cannot be hashed; convert the "
                     "column to words or numbers.")


def _canonical(category):
    return type(category).__name__, category


def plain(cell):
    """Return the plain form of a cell, equal for equal cells such as 1, 1.0 and True."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    for kind in (str, bytes):
        if isinstance(cell, kind):
            return kind().join([cell])
    if isinstance(cell, (Real, Decimal)) and not isinstance(cell, Integral):
        cell = _number(cell)
    whole = isinstance(cell, Integral) or (isinstance(cell, float) and cell.is_integer())
    return int(cell) if whole else cell


def is_word(cell):
    """Return whether a plain cell is a word or a number."""
    return isinstance(cell, (str, bytes, Real))


def is_missing(cell):
    """Return whether a cell stands for a missing value."""
    # Test by kind: NaN and NaT differ from themselves, and NA == NA has no truth value.
    return type(cell).__name__ in _MISSING or (
        isinstance(cell, (float, np.floating, Decimal)) and cell != cell)


def _factorize(cells):
    """Return codes and distinct cells of a Series or array, like pandas' `factorize`."""
    if hasattr(cells, "factorize"):
        # Some versions of pandas warn of conversions, which depend on the cells.
        codes, found = without_warnings(cells.factorize)
        # Some dtypes keep NaN apart from missing values; as a category it could not be sorted.
        found = found.tolist()
        known = np.array([not is_missing(cell) for cell in found], dtype=bool)
        places = np.append(np.where(known, np.cumsum(known) - 1, -1), -1)
        return places[codes], [found[place] for place in np.flatnonzero(known)]
    codes, found = np.full(len(cells), -1), {}
    for place, cell in enumerate(cells.tolist()):
        if not is_missing(cell):
            codes[place] = found.setdefault(plain(cell), len(found))
    return codes, list(found)

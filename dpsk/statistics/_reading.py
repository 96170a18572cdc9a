"""Reading of columns for statistics, and the function that releases a statistic."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import BaseEstimator

from dpsk._data.columns import check_columns, is_frame
from dpsk._data.errors import discreetly
from dpsk._data.groups import Groups, groups_of
from dpsk._data.polars_frames import is_polars
from dpsk._data.source import Rows
from dpsk._data.structure import refuse_masked
from dpsk._data.tables import Table, read_table
from dpsk._fit import Method, run_private
from dpsk._parameters import check_flag
from dpsk._problem import Budget
from dpsk.metrics._estimate import between
from dpsk.metrics._table import checked_budget
from dpsk.preprocessing._numeric import check_bounds, check_pair

__all__ = ["BY", "CATEGORIES", "HIDDEN", "Columns", "as_declared", "estimated"]

#: Keyword options of every function.
_OPTIONS = ("epsilon", "delta", "groups", "random_state")
#: Keyword options of functions that can split the rows.
BY = ("by", "categories")
#: Note on statistics of too few values.
HIDDEN = ("noise hides how many values there are, so the statistic is not known, and NaN; use "
          "more rows, or a larger epsilon")
#: What a list of categories must be.
CATEGORIES = "None, or a list of categories, each once"


@dataclass(frozen=True, eq=False)
class Parts:
    """The sensitive part of every row, -1 for none, and the public names of parts."""

    codes: np.ndarray
    names: list

    @classmethod
    def of(cls, name, options, n, parameter):
        """Return the parts of n rows given by the option `by`, or None without `by`.

        `parameter` is the name of the option for its categories.
        """
        by, categories = options.get("by"), options.get(parameter)
        if by is None:
            if categories is not None:
                raise ValueError(f"{parameter}: they are of by; give by=, or leave them out.")
            return None
        refuse_masked("by", by)
        X, _ = _in_columns(by)
        declared = None if categories is None else dict.fromkeys(
            _names(X), as_declared(parameter, categories, list, CATEGORIES))
        try:
            table = read_table(type(name, (BaseEstimator,), {})(), X, declared, "words")
        except (TypeError, ValueError) as error:
            raise ValueError(f"by: {error}") from None
        if table.values.shape != (n, 1):
            raise ValueError(f"by has shape {table.values.shape}; must be one column of {n} rows, "
                             "as X has.")
        names = list(table.columns[0].categories)
        if not names:
            raise ValueError(f"by: which categories occur is data; declare them in {parameter}=, "
                             "or give a categorical dtype.")
        return cls(table.values[:, 0], names)


@dataclass(frozen=True, eq=False)
class Columns:
    """A table read for one function, and the budget of its release.

    The table is sensitive. `name` is the name of the function. `whole` says which columns hold
    only integers, by their dtype, and `full` which ones have a value in every row. `single` says
    whether X was one column, so that results are numbers. `groups` are the people of rows and
    `parts` the parts of rows, if any.
    """

    name: str
    table: Table
    budget: Budget
    whole: np.ndarray
    full: np.ndarray
    single: bool
    random_state: object
    groups: Groups | None
    parts: Parts | None

    @classmethod
    def of(cls, name, X, options, *more, only="numbers", columns=None, categories=None, one=False,
           whole=False):
        """Read and check columns, before any noise is drawn.

        `options` are the keyword options of a call; `more` names those beyond the common ones.
        `columns` describes columns as in transformers; `categories` are those of every column.
        `one` requires a single column, and `whole` forbids missing values.
        """
        _check_options(name, options, *more)
        epsilon, delta, groups, random_state = map({"epsilon": 1.0, **options}.get, _OPTIONS)
        bounds = options.get("bounds")
        check_flag("population", options.get("population", False))
        X, single = _in_columns(X)
        if only == "numbers":
            columns = _declared(X, bounds)
        elif categories is not None:
            columns = dict.fromkeys(_names(X), categories)
        check_columns("columns", columns)
        table = read_table(type(name, (BaseEstimator,), {})(), X, columns, only)
        if one and len(table.columns) != 1:
            raise ValueError(f"x has {len(table.columns)} columns; give one of them at a time.")
        if whole and np.isnan(table.values).any():
            raise ValueError("X contains NaN; leave out what is missing, or impute it, such as "
                             "with DPSimpleImputer.")
        members = groups_of(groups, len(table.values), random_state)
        budget = checked_budget(*table.values.shape, epsilon, delta, random_state, members)
        parts = Parts.of(name, options, len(table.values), "by_categories" if "by_categories" in
                         more else "categories")
        whole = _whole(X, table)
        # The number of rows in a part is not public.
        return cls(name, table, budget, whole, whole & (parts is None), single, random_state,
                   members, parts)

    @property
    def rows(self):
        """Rows : numbers and category codes, with the parts as targets, if any."""
        return self.rows_of(self.table.values)

    def rows_of(self, values):
        """Return Rows of values that were computed from the columns row by row."""
        codes = np.zeros(len(values)) if self.parts is None else self.parts.codes
        return Rows(values, codes, groups=self.groups)

    @property
    def names(self):
        """tuple of str : names of columns, for messages."""
        return tuple(repr(each.name) for each in self.table.columns)

    @property
    def n_parts(self):
        """int or None : number of parts of the rows."""
        return None if self.parts is None else len(self.parts.names)

    def edges(self):
        """Return the declared ranges of columns, shape (n_columns, 2), NaN where there is none."""
        return np.array([(np.nan, np.nan) if each.edges is None else each.edges
                         for each in self.table.columns]).reshape(-1, 2)

    def released(self, what, mechanism, data, *, enforced, settings=()):
        """Run a mechanism on data within the budget; return its output and certificate.

        `settings`, the columns and `enforced` are the key of noise that repeats.
        """
        unit = "number of groups of rows" if self.budget.grouped else "number of rows"
        parts = () if self.parts is None else (self.parts.names,)
        method = Method(self.name, f"dpsk.statistics.{self.name}", repr(
            (settings, enforced, *parts)), None).with_columns(self.table.columns)
        return run_private(
            method, what, self.budget, mechanism, self.rows, data, verbose=0,
            random_state=self.random_state, enforced=enforced, released=[what],
            public=[f"{unit} and of columns, their names, types, and categories listed by types",
                    "all parameters", *(["the categories of by"] if parts else [])])

    def shaped(self, array):
        """Return an array with an entry for each column; without that axis for a single one."""
        return array[..., 0] if self.single else array


def as_declared(name, given, kind, remedy):
    """Return checked edges or categories of a column, or raise a ValueError."""
    try:
        found = kind(given)
        check_columns(name, {0: found})
    except (TypeError, ValueError):
        found = None
    if found is None or isinstance(given, str):
        raise ValueError(f"{name}={given!r}: must be {remedy}.")
    return found


def _check_options(name, options, *more):
    """Raise a TypeError for keyword options that a function does not take."""
    taken = (*_OPTIONS, *more)
    for each in options:
        if each not in taken:
            raise TypeError(f"{name}() got an unexpected keyword argument {each!r}; it takes "
                            f"{', '.join(taken)}.")


def estimated(columns, value, low, high, bounds, certificate, note=None):
    """Return the Estimate with an entry for each column, from the ends of 95 % intervals."""
    value, low, high, *bounds = (
        columns.shaped(np.asarray(each, dtype=np.float64)) for each in (
            value, low, high, *(np.broadcast_to(end, np.shape(value)) for end in bounds)))
    return replace(between(value, low, high, bounds, note), privacy_=certificate)


def _in_columns(X):
    """Return X as a table, and whether it was a single column."""
    if hasattr(X, "to_frame"):
        return X.to_frame(), True
    if is_frame(X) or is_polars(X) or hasattr(X, "__dataframe__"):
        return X, False
    refuse_masked("X", X)
    if not hasattr(X, "dtype"):
        X = discreetly("X", np.asarray, X, object)
    return (X.reshape(-1, 1), True) if getattr(X, "ndim", 0) == 1 else (X, False)


def _declared(X, bounds):
    """Return the given bounds of columns by name."""
    if bounds is None or isinstance(bounds, dict):
        check_bounds("bounds", bounds)
        names = list(_names(X))
        for name in bounds or ():
            if names and name not in names:
                raise ValueError(f"bounds: {name!r} is no column; use the names of a DataFrame, "
                                 "or positions in an array.")
        return bounds
    check_pair("bounds", bounds)
    return dict.fromkeys(_names(X), tuple(bounds))


def _names(X):
    # Inputs that are not tables are refused later, by `read_table`.
    return list(X.columns) if hasattr(X, "columns") else range((0, *np.shape(X))[-1])


def _whole(X, table):
    """Return which columns hold only integers, none of them missing, by their dtype."""
    dtypes = list(X.dtypes) if is_frame(X) else [getattr(X, "dtype", None)] * len(table.columns)
    return np.array([isinstance(dtype, np.dtype) and dtype.kind in "iub" for dtype in dtypes])

"""Worst-case neighboring tables, which differ in one extreme row."""

import inspect
from dataclasses import dataclass, field, replace

import joblib
import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from dpsk._privacy.noise.public import public_normals

__all__ = ["Pair", "degenerate", "neighboring_tables", "targets", "under_names"]

_N_SAMPLES, _N_FEATURES = 64, 5
#: Distance of the changed row from the others.
_FAR = 1e3
#: Largest entry of the table for estimators with declared bounds; its rows have norm at most 1.
_WITHIN = 0.4
_OWN_TABLES = "give pairs of tables of your own as neighbors=[((X1, y1), (X2, y2))]"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables that differ in one row.

    Attributes
    ----------
    name : str
        Description of the change to the row.
    tables : tuple of two dicts
        Arguments of `fit`.
    probes : array-like
        Public rows on which the fitted models are evaluated.
    moves_features : bool
        Whether the tables differ in more than a target.
    """

    name: str
    tables: tuple
    probes: object = field(repr=False)
    moves_features: bool = True


def neighboring_tables(estimator, X=None, y=None, neighbors="worst", seed=None):
    """Return the pairs of tables of an audit.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like or None
        The table in which one row is replaced; None: small tables in which nothing hides it.
    neighbors : "worst" or list of (table, table)
        User-defined pairs; each table is a dict of arguments of `fit` or a tuple (X, y).
    seed : int or None
        Seed of the public randomness in a table.

    Returns
    -------
    pairs : list of Pair
    """
    if isinstance(neighbors, str):
        if neighbors != "worst":
            raise ValueError(f"neighbors={neighbors!r}: must be 'worst' or a list of pairs of "
                             "tables, each (X, y) or a dict of arguments of fit.")
        target, gaps = targets(estimator), get_tags(estimator).input_tags.allow_nan
        found = list(degenerate(target, seed, gaps) if X is None else _around(X, y, target, gaps))
        if X is None and target is None and _takes_targets(estimator):
            found += [replace(pair, name=f"{pair.name}, with targets")
                      for pair in list(degenerate([(0, 1)], seed))[2:6:3]]
        return [under_names(estimator, pair) for pair in found]
    pairs = [_given(number, pair) for number, pair in enumerate(neighbors)]
    if not pairs:
        raise ValueError("neighbors=[]: must hold at least one pair of tables.")
    return pairs


def _given(number, pair):
    """Return a validated pair of user-defined tables, which must differ."""
    name = f"neighbors[{number}]"
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(map(_is_table, pair)):
        raise ValueError(f"{name}: must be a pair of tables, each a tuple (X, y) or (X,) or a "
                         "dict of arguments of fit; write neighbors=[((X1, y1), (X2, y2))] or "
                         "neighbors=[((X1,), (X2,))].")
    tables = tuple(table if isinstance(table, dict) else
                   dict(zip(("X", "y"), table, strict=False)) for table in pair)
    if _same_tables(*tables):
        raise ValueError(f"{name}: both tables are equal, and nothing that is published could "
                         "tell them apart; give two tables that differ in what the claim "
                         "protects, such as one row.")
    return Pair(f"given {number}", tables, next(iter(tables[0].values()))[:6])


def _is_table(value):
    return (isinstance(value, dict) and bool(value)) or (
        isinstance(value, tuple) and len(value) in (1, 2))


def _same_tables(first, second):
    """Return whether arguments of `fit` are equal; False if not comparable."""
    return first.keys() == second.keys() and all(
        _same(first[name], second[name]) for name in first)


def _same(first, second):
    if first is second:
        return True
    try:
        if not hasattr(first, "toarray") and not hasattr(first, "iloc"):
            first, second = (np.ascontiguousarray(each) for each in (first, second))
            if first.dtype.kind in "biuf" and second.dtype.kind in "biuf":
                return np.array_equal(first, second, equal_nan=True)
        return joblib.hash(first) == joblib.hash(second)
    except Exception:
        # Ragged rows and objects that cannot be pickled are not compared.
        return False


def under_names(estimator, pair):
    """Return a pair with X and y under the argument names of the estimator's `fit`."""
    given = [parameter.name for parameter in inspect.signature(estimator.fit).parameters.values()
             if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    names = {"X": given[0] if given else "X", "y": "y"}
    if "y" not in given and "Y" in given:
        names["y"] = "Y"
    return replace(pair, tables=tuple({names[key]: value for key, value in table.items()}
                                      for table in pair.tables))


def _takes_targets(estimator):
    """Return whether `fit` has an argument for targets, required or optional."""
    return bool({"y", "Y"} & set(inspect.signature(estimator.fit).parameters))


def targets(estimator):
    """Return pairs of extreme targets for an estimator; None if it needs none."""
    params = estimator.get_params()
    if is_classifier(estimator):
        given = [value for key, value in params.items()
                 if key.split("__")[-1] == "classes" and value is not None]
        labels = list(given[0])[:2] if given else [0, 1]
        return [tuple(labels)]
    if is_regressor(estimator):
        given = [value for key, value in params.items()
                 if key.split("__")[-1] == "target_bounds" and isinstance(value, tuple)]
        return [given[0]] if given else [(-_FAR, _FAR), (0.0, _FAR)]
    return [(0, 1)] if get_tags(estimator).target_tags.required else None


def degenerate(extremes, seed, gaps=False):
    """Yield pairs of small tables: zeros, equal rows, normal rows and short rows."""
    n, d = _N_SAMPLES, _N_FEATURES
    zeros, same = np.zeros((n, d)), np.zeros((n, d))
    same[:, 1] = 1.0
    cloud = public_normals("rows of an audit", seed, (n, d))
    far = np.zeros(d)
    far[0] = _FAR
    probes = np.vstack([np.zeros(d), np.eye(d)[:2], -np.eye(d)[:1], np.ones(d), cloud[:1]])
    for low, high in extremes or [(None, None)]:
        if extremes is None:
            both = rare = None
        else:
            # Both targets occur whatever the target of the changed row is.
            both = np.where(np.arange(n) % 2, high, low)
            rare = np.where(np.arange(n) < n - 1, low, high)
            yield _pair("target of a long row among zeros", zeros, both, (far, low), (far, high),
                        probes)
            yield _pair("target among equal rows", same, rare, (same[0], low), (same[0], high),
                        probes)
            yield _pair("target of a long row among normal ones", cloud, both, (far, low),
                        (far, high), probes)
        yield _pair("sign of a long row among zeros", zeros, both, (-far, high), (far, high),
                    probes)
        yield _pair("long row or none among zeros", zeros, both, (zeros[0], low),
                    (np.full(d, _FAR), high), probes)
        yield _pair("long row or none among normal ones", cloud, both, (cloud[0], low),
                    (np.full(d, _FAR), high), probes)
    yield from _within_bounds(extremes, gaps, probes)


def _within_bounds(extremes, gaps, probes):
    """Yield pairs within declared bounds; with `gaps`, also one missing value."""
    low, high = (None, None) if extremes is None else extremes[0]
    if extremes is not None and len(extremes) > 1:
        # The bounds of targets are unknown; small targets lie within most bounds.
        low, high = 0.0, 1.0
    n, d = _N_SAMPLES, _N_FEATURES
    rows = _WITHIN * (np.arange(n * d) * 0.618034 % 1.0).reshape(n, d)
    both = None if extremes is None else np.where(np.arange(n) % 2, high, low)
    least, greatest = np.zeros(d), np.full(d, _WITHIN)
    yield _pair("row of least or of greatest entries", rows, both, (least, low), (greatest, high),
                probes)
    yield _pair("another row twice or none", rows, both, (rows[1], high), (least, high), probes)
    if gaps:
        gap = np.where(np.arange(d) == 0, np.nan, rows[0])
        yield _pair("row with a missing value", rows, both, (gap, low), (rows[0], low), probes)


def _around(X, y, extremes, gaps):
    """Return pairs of tables that differ from the given table in the first row."""
    X, values = _checked(X), None if y is None else np.asarray(y)
    pairs = [pair for pair in _all_around(X, values, extremes, gaps)
             # With constant columns or targets, some replacements change nothing.
             if not _same_tables(*pair.tables)]
    if not pairs:
        raise ValueError(f"X={type(X).__name__}: no entry of its first row can be changed; "
                         f"{_OWN_TABLES}.")
    return pairs


def _all_around(X, values, extremes, gaps):
    (low, high), (least, greatest) = _extremes(X, _FAR), _extremes(X, None)
    usual, own = _row(X, 0), None if values is None else values[0]
    pairs = [(None, None)]
    if values is not None:
        ends = np.unique(values)[[0, -1]]
        pairs = [tuple(ends)]
        if extremes is not None and values.dtype.kind == "f" and np.isfinite(extremes[0]).all():
            pairs.append(extremes[0])
    for first, second in pairs:
        if values is not None:
            yield _pair("target of a usual row", X, values, (usual, first), (usual, second))
            yield _pair("target of a long row", X, values, (high, first), (high, second))
        yield _pair("sign of a long row", X, values, (low, second), (high, second))
        yield _pair("long row or a usual one", X, values, (usual, own), (high, second))
    yield _pair("row of least or of greatest entries", X, values, (least, own), (greatest, own))
    other = _most_unlike(X)
    yield _pair("another row twice or a usual one", X, values, (usual, own),
                (_row(X, other), None if values is None else values[other]))
    if hasattr(X, "iloc"):
        yield from _of_categories(X, values, own)
    if gaps:
        yield _pair("row of missing values", X, values, ([np.nan] * X.shape[1], own), (usual, own))


def _of_categories(X, values, own):
    """Yield a pair of frames in which row 0 alone has the rarest categories, or not."""
    frequent, rest = _row(X, 0), X.copy()
    rare = list(frequent)
    places = [place for place, name in enumerate(X.columns) if X[name].dtype.kind not in "biufmM"]
    for place in places:
        column = X[X.columns[place]].astype(object)
        found = column.value_counts().index
        if len(found) > 1:
            # Other rows get the most frequent category in place of the rarest one.
            frequent[place], rare[place] = found[0], found[-1]
            rest[X.columns[place]] = column.where(column != rare[place], frequent[place])
    if all(before is after for before, after in zip(frequent, rare, strict=True)):
        rare = ["a category of one row" if place in places else entry
                for place, entry in enumerate(rare)]
    if places:
        yield _pair("row with a category of its own or none", rest, values, (frequent, own),
                    (rare, own))


def _checked(X):
    """Return a frame or an array of numbers; refuse anything else."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        # pandas' nullable numbers become floats, so that missing values are NaN.
        return X.astype({name: np.float64 for name, dtype in X.dtypes.items()
                         if dtype.kind in "biuf" and not isinstance(dtype, np.dtype)})
    given = X if hasattr(X, "__len__") and not hasattr(X, "toarray") else None
    rows = np.asarray(given)
    if rows.dtype.kind not in "biuf" or rows.ndim < 2 or not rows.size:
        raise ValueError(f"X={type(X).__name__}: must be a DataFrame or an array of numbers with "
                         f"a row for every sample; {_OWN_TABLES}.")
    return rows


def _extremes(X, factor):
    """Return opposite rows: `factor` times the largest entry; the extremes if None."""
    if not hasattr(X, "iloc"):
        if factor is None:
            return np.nanmin(X, axis=0), np.nanmax(X, axis=0)
        reach = factor * max(float(np.nanmax(np.abs(X))), 1e-3)
        return np.full(X.shape[1], -reach), np.full(X.shape[1], reach)
    low, high = [], []
    for _, column in X.items():
        if factor is not None and column.dtype.kind in "biuf":
            reach = factor * max(float(np.nanmax(np.abs(column))), 1e-3)
            ends = [-reach, reach]
        else:
            known = column.dropna().unique()
            ends = sorted(known, key=None if column.dtype.kind in "biufmM" else str) or [np.nan]
        low.append(ends[0])
        high.append(ends[-1])
    return low, high


def _most_unlike(X):
    """Return the index of the row that differs from the first in the most entries."""
    columns = [column.factorize()[0] for _, column in X.items()] if hasattr(X, "iloc") else (
        X.reshape(len(X), -1).T)
    return int(np.argmax(sum((column != column[0]).astype(int) for column in columns)))


def _row(X, index):
    return list(X.iloc[index]) if hasattr(X, "iloc") else X[index]


def _with_row(X, row):
    if not hasattr(X, "iloc"):
        changed = X.astype(np.result_type(X, np.float32))
        changed[0] = row
        return changed
    columns = {}
    for name, value in zip(X.columns, row, strict=True):
        column = X[name].to_numpy(copy=True)
        # Extreme entries may overflow an integer dtype.
        column = column.astype(np.float64) if column.dtype.kind in "biu" else column
        # Date columns take None for missing values, not NaN.
        column[0] = None if column.dtype.kind in "mM" and value is np.nan else value
        columns[name] = column
    return type(X)(columns)


def _pair(name, X, y, first, second, probes=None):
    """Return a pair whose row 0 is `first` or `second`, each (features, target)."""
    tables = []
    for row, target in (first, second):
        table = {"X": _with_row(X, row)}
        if y is not None:
            table["y"] = np.array(y)
            table["y"][0] = target
        tables.append(table)
    if probes is None:
        probes = tables[1]["X"][:6]
    moves = not _same(np.asarray(first[0], dtype=object), np.asarray(second[0], dtype=object))
    return Pair(name, tuple(tables), probes, moves)

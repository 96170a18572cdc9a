"""Neighboring tables, as far apart as one row can bring them."""

import inspect
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from dpsk._privacy.noise.public import public_normals

__all__ = ["Pair", "degenerate", "neighboring_tables", "targets", "under_names"]

_N_SAMPLES, _N_FEATURES = 64, 5
#: How far the changed row lies beyond the others.
_FAR = 1e3


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables that differ in one row.

    Attributes
    ----------
    name : str
        What is done to the row.
    tables : tuple of two dicts
        Arguments of `fit`.
    probes : array-like
        Public rows, on which what is fitted is asked.
    """

    name: str
    tables: tuple
    probes: object = field(repr=False)


def neighboring_tables(estimator, X=None, y=None, neighbors="worst", seed=None):
    """Return the pairs of tables of an audit.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like or None
        The table of which one row is replaced; None: small ones, in which nothing hides it.
    neighbors : "worst" or list of (table, table)
        Pairs of the caller's own, of dicts of arguments of `fit` or tuples (X, y).
    seed : int or None
        Of the public draws in a table.

    Returns
    -------
    pairs : list of Pair
    """
    if isinstance(neighbors, str):
        if neighbors != "worst":
            raise ValueError(f"neighbors={neighbors!r}: must be 'worst' or a list of pairs of "
                             "tables, each (X, y) or a dict of arguments of fit.")
        target = targets(estimator)
        found = list(degenerate(target, seed) if X is None else _around(X, y, target))
        if X is None and target is None and _takes_targets(estimator):
            found += [replace(pair, name=f"{pair.name}, with targets")
                      for pair in list(degenerate([(0, 1)], seed))[2::3]]
        return [under_names(estimator, pair) for pair in found]
    pairs = []
    for number, (first, second) in enumerate(neighbors):
        tables = tuple(each if isinstance(each, dict) else
                       dict(zip(("X", "y"), each, strict=False)) for each in (first, second))
        pairs.append(Pair(f"given {number}", tables, tables[0]["X"][:6]))
    if not pairs:
        raise ValueError("neighbors=[]: must hold at least one pair of tables.")
    return pairs


def under_names(estimator, pair):
    """Return a pair with rows and targets under the names that the arguments of `fit` have."""
    given = [parameter.name for parameter in inspect.signature(estimator.fit).parameters.values()
             if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    names = {"X": given[0] if given else "X", "y": "y"}
    if "y" not in given and "Y" in given:
        names["y"] = "Y"
    return replace(pair, tables=tuple({names[key]: value for key, value in table.items()}
                                      for table in pair.tables))


def _takes_targets(estimator):
    """Return whether `fit` has an argument for targets, needed or not."""
    return bool({"y", "Y"} & set(inspect.signature(estimator.fit).parameters))


def targets(estimator):
    """Return pairs of extreme targets, by what the estimator takes; None where it takes none."""
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


def degenerate(extremes, seed):
    """Yield pairs of small tables: of zeros, of one row many times, and of normal rows."""
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
            # Each is there whatever the changed row says.
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


def _around(X, y, extremes):
    """Yield pairs of tables that are given ones but for their first row."""
    if not hasattr(X, "iloc"):
        X = np.asarray(X)
    low, high = _extremes(X)
    values = None if y is None else np.asarray(y)
    usual = _row(X, 0)
    pairs = [(None, None)]
    if values is not None:
        least, greatest = np.unique(values)[[0, -1]]
        pairs = [(least, greatest)]
        if extremes is not None and values.dtype.kind == "f" and np.isfinite(extremes[0]).all():
            pairs.append(extremes[0])
    for first, second in pairs:
        own = None if values is None else values[0]
        if values is not None:
            yield _pair("target of a usual row", X, values, (usual, first), (usual, second))
            yield _pair("target of a long row", X, values, (high, first), (high, second))
        yield _pair("sign of a long row", X, values, (low, second), (high, second))
        yield _pair("long row or a usual one", X, values, (usual, own), (high, second))


def _extremes(X):
    """Return two opposite rows, far beyond those of a table."""
    if not hasattr(X, "iloc"):
        reach = _FAR * max(float(np.nanmax(np.abs(X))), 1e-3)
        return np.full(X.shape[1], -reach), np.full(X.shape[1], reach)
    low, high = [], []
    for _, column in X.items():
        if column.dtype.kind in "biuf":
            reach = _FAR * max(float(np.nanmax(np.abs(column))), 1e-3)
            low.append(-reach)
            high.append(reach)
        else:
            words = sorted(column.dropna().unique(), key=str)
            low.append(words[0])
            high.append(words[-1])
    return low, high


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
        # Integers may have to hold more than their dtype does.
        column = column.astype(np.float64) if column.dtype.kind in "biu" else column
        column[0] = value
        columns[name] = column
    return type(X)(columns)


def _pair(name, X, y, first, second, probes=None):
    """Return a pair of tables whose row 0 is (features, target), first one and then the other."""
    tables = []
    for row, target in (first, second):
        table = {"X": _with_row(X, row)}
        if y is not None:
            table["y"] = np.array(y)
            table["y"][0] = target
        tables.append(table)
    if probes is None:
        probes = tables[1]["X"][:6]
    return Pair(name, tuple(tables), probes)

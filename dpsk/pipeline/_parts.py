"""Parts of steps: the transformers within a ColumnTransformer or a FeatureUnion."""

import math
import sys
from contextlib import nullcontext

import numpy as np
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing
from sklearn.utils._indexing import _get_column_indices
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array

from dpsk._budgeted import facts_on_trust
from dpsk._data.entries import WithoutNA
from dpsk._data.errors import discreetly
from dpsk._data.validation import check_in_memory
from dpsk.pipeline._known import NOTHING, is_private, seed_draws

__all__ = ["called", "columns_of_parts", "every_part", "fit_parts", "has_parts", "named_parts",
           "rows_of_parts", "trusted_facts"]


def has_parts(step):
    """Return whether a step is a ColumnTransformer or FeatureUnion, and no subclass."""
    return type(step) is FeatureUnion or _takes_columns(step)


def called(step, method, *args):
    """Call a method of a step with no data in its errors, and map parts in this thread.

    Workers do not know whether a private step has mapped the rows, so they would refuse some.
    """
    with parallel_backend("sequential") if has_parts(step) else nullcontext():
        return discreetly("X", getattr(step, method), *args)


def every_part(steps):
    """Return (name, estimator) of every step, or of its parts, named ``step__part``.

    Parts that are "drop" or "passthrough" are left out.
    """
    found = []
    for name, step in steps:
        if not has_parts(step):
            found.append((name, step))
            continue
        step._validate_transformers()
        found += [(f"{name}__{part}", each) for part, each in named_parts(step)
                  if not isinstance(each, str)]
    return found


def trusted_facts(steps):
    """Return the unverified assumptions about steps, nested ones included."""
    found = []
    for name, step in every_part(steps):
        if is_private(step):
            found += [f"{name}: {fact}" for fact in facts_on_trust(step)]
        elif step not in NOTHING:
            found.append(f"{name}: that it maps each row by itself, and all it holds")
    return found


def rows_of_parts(name, step, X):
    """Return the rows that every part takes, by ``step__part``.

    A step without parts takes all. The columns of a part depend on column names, positions and
    dtypes only.
    """
    if not _takes_columns(step):
        return {each: X for each, _ in every_part([(name, step)])}
    check_in_memory(type(step).__name__, "takes columns of rows", X)
    if len(getattr(X, "shape", ())) != 2:
        X = discreetly("X", check_array, X, dtype=object, ensure_all_finite=False)
    found, taken = {}, set()
    for part, each, columns in step.transformers:
        if callable(columns):
            if not isinstance(columns, sys.modules["sklearn.compose"].make_column_selector):
                raise ValueError(f"step {name!r}: the columns of {part!r} are chosen by a "
                                 "function, which may look at rows; use names, positions or "
                                 "make_column_selector.")
            columns = columns(X)
        places = _get_column_indices(X, columns)
        taken.update(places)
        if is_private(each) and not len(places):
            raise ValueError(f"step {name!r}: {part!r} takes no column; drop it.")
        found[f"{name}__{part}"] = _safe_indexing(X, columns, axis=1)
    rest = sorted(set(range(X.shape[1])) - taken)
    if is_private(step.remainder) and not rest:
        raise ValueError(f"step {name!r}: no column is left for its remainder; drop it.")
    found[f"{name}__remainder"] = _safe_indexing(X, rest, axis=1)
    return found


def columns_of_parts(step, X):
    """Return every part that is an estimator, and its columns of the rows, or None for all."""
    if not _takes_columns(step):
        return [(each, None) for _, each in named_parts(step) if not isinstance(each, str)]
    X = X if hasattr(X, "shape") else np.asarray(X)
    found, rest = [], set(range(X.shape[1]))
    for _, each, columns in step.transformers:
        places = _get_column_indices(X, columns(X) if callable(columns) else columns)
        rest -= set(places)
        found.append((each, places))
    return [(each, places) for each, places in [*found, (step.remainder, sorted(rest))]
            if places and not isinstance(each, str)]


def fit_parts(name, step, X, y, fit):
    """Fit a step with parts: private parts by `fit`; the others only map rows.

    Parameters
    ----------
    name : str
    step : ColumnTransformer or FeatureUnion
        A clone.
    X, y
    fit : callable, (str, estimator, X) -> estimator
        Fits a private part, a clone, at its share, and returns it.
    """
    rows = rows_of_parts(name, step, X)
    for _, each in named_parts(step):
        if hasattr(each, "get_params") and not is_private(each):
            seed_draws(each)
    fitted = {part: fit(f"{name}__{part}", clone(each), rows[f"{name}__{part}"])
              for part, each in named_parts(step) if is_private(each)}
    frozen = {part: FrozenEstimator(each) for part, each in fitted.items()}
    if type(step) is FeatureUnion:
        step.transformer_list = [(part, frozen.get(part, each))
                                 for part, each in step.transformer_list]
        called(step, "fit", X, y)
        step.transformer_list = known = [(part, fitted.get(part, each))
                                         for part, each in step.transformer_list]
    else:
        given = step.transformers, step.remainder
        keeps_na = _get_output_config("transform", step)["dense"] == "pandas"
        taken = {part: each if keeps_na else _without_na(each)
                 for part, each in named_parts(step)} | frozen
        step.transformers = [(part, taken[part], columns)
                             for part, _, columns in step.transformers]
        step.remainder = taken["remainder"]
        # Always dense, because the number of zeros depends on the rows.
        step.sparse_threshold = 0
        called(step, "fit", X, y)
        step.transformers, step.remainder = given
        step.transformers_ = [(part, fitted.get(part, each), columns)
                              for part, each, columns in step.transformers_]
        known = [(part, each) for part, each, _ in step.transformers_]
    norm = _norm(known, step.transformer_weights or {})
    if norm is not None:
        step.row_norm_ = norm
    return step


def _without_na(part):
    """Return a part that maps rows as the given one, without pd.NA.

    A ColumnTransformer that returns arrays refuses it by the cells, which a private step may have
    mapped.
    """
    if isinstance(part, str) and part == "passthrough":
        part = FunctionTransformer(accept_sparse=True, check_inverse=False,
                                   feature_names_out="one-to-one")
    if type(part) is not FunctionTransformer:
        return part
    return clone(part).set_params(func=WithoutNA(part.func))


def _takes_columns(step):
    """Return whether a step is a ColumnTransformer, and no subclass."""
    # It is slow to import; as long as nobody has imported it, there is no instance.
    compose = sys.modules.get("sklearn.compose")
    return compose is not None and type(step) is compose.ColumnTransformer


def named_parts(step):
    """Return (name, estimator or string) of all parts of a step."""
    if type(step) is FeatureUnion:
        return list(step.transformer_list)
    return [*((part, each) for part, each, _ in step.transformers),
            ("remainder", step.remainder)]


def _norm(parts, weights):
    """Return the norm bound of concatenated parts, or None if a part has none."""
    squares = 0.0
    for part, each in parts:
        if isinstance(each, str) and each == "drop":
            continue
        norm = getattr(each, "row_norm_", None)
        if norm is None:
            return None
        squares += (weights.get(part, 1.0) * norm) ** 2
    return math.sqrt(squares)

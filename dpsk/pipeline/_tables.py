"""Checks of rows for all private steps, before the first fit.

The rows of later steps depend on private outputs, but their missing values do not if earlier steps
keep them. So rows of zeros with the same missing values stand in for the rows of later steps.
"""

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _num_samples, check_array

from dpsk._budgeted import asked
from dpsk._data.columns import is_frame
from dpsk._data.errors import discreetly, without_warnings
from dpsk.pipeline._known import NOTHING, is_private
from dpsk.pipeline._parts import every_part, has_parts, named_parts, rows_of_parts
from dpsk.pipeline._rows import mapped

__all__ = ["check_tables"]


def check_tables(steps, X, y):
    """Raise the errors of steps about rows X, which the first, private step takes."""
    _check_frame(*steps[0], X)
    _check_parts(*steps[0], X, y)
    _check_columns(steps, X, y)
    _check_gaps(steps, X, y)


def _check_columns(steps, X, y):
    """Raise the errors of later private steps about columns that do not exist.

    Nothing is raised after a step whose output columns are unknown.
    """
    steps = _without_nesting(steps)
    rows = X
    for place, step in enumerate(steps):
        if has_parts(step):
            return
        if place and is_private(step):
            without_warnings(asked(clone(step))._check_table, rows, y)
        rows = without_warnings(_zeros_behind, step, rows)
        if rows is None:
            return


def _without_nesting(steps):
    """Return all steps but "passthrough" and None; pipelines are replaced by their steps."""
    found = []
    for _, step in steps:
        if is_private(step) and hasattr(step, "steps"):
            found += _without_nesting(step.steps)
        elif step not in NOTHING:
            found.append(step)
    return found


def _zeros_behind(step, X):
    """Return rows of zeros with all possible output columns of a step, or None."""
    if not hasattr(step, "transform") or isinstance(step, FunctionTransformer) or (
            not is_frame(X) and _get_output_config("transform", step)["dense"] != "default"):
        return None
    if is_private(step):
        return asked(step)._like_most(X)
    try:
        rows = mapped(clone(step), X, _num_samples(X))
    except (IndexError, KeyError, TypeError, ValueError):
        # A step may refuse zeros, and still accept the real rows.
        return None
    is_numeric = type(rows) is np.ndarray and rows.dtype.kind == "f"
    return np.zeros_like(rows) if is_numeric else None


def _check_gaps(steps, X, y):
    """Raise the errors of later steps about missing values in the first one's rows.

    Nothing is raised after a step that may treat missing values in an unknown way.
    """
    rows = _stand_ins(*steps[0], X)
    for name, step in steps[1:]:
        if rows is None:
            return
        if step not in NOTHING:
            rows = without_warnings(_behind, name, step, *rows, y)


def _check_frame(name, step, X):
    """Raise the errors of a step with parts about its parameters and column names.

    All but its private parts are fitted to two rows, because they map each row by itself.
    """
    if not has_parts(step):
        return
    frame = clone(step)
    if hasattr(frame, "transformer_list"):
        frame.transformer_list = [(part, "drop" if is_private(each) else each)
                                  for part, each in frame.transformer_list]
    else:
        frame.transformers = [(part, "drop" if is_private(each) else each, columns)
                              for part, each, columns in frame.transformers]
        if is_private(frame.remainder):
            frame.remainder = "drop"
    few = min(2, _num_samples(X))
    rows = _safe_indexing(X, slice(0, few))
    if not hasattr(rows, "shape"):
        rows = discreetly("X", check_array, rows, dtype=object, ensure_all_finite=False)
    mapped(frame, rows, few)


def _check_parts(name, step, X, y):
    """Raise the errors of a private step, or of private parts, about rows."""
    rows = rows_of_parts(name, step, X)
    for part, each in every_part([(name, step)]):
        if is_private(each):
            asked(clone(each))._check_table(rows[part], y)


def _stand_ins(name, step, X):
    """Return zero rows after a private step, without and with the gaps of X.

    Gaps are missing values. None if there are none, or if they may not stay missing.
    """
    rows = rows_of_parts(name, step, X)
    gaps = [np.isnan(clone(each)._read(rows[part]).values)
            for part, each in every_part([(name, step)])
            if asked(each)._keeps_missing]
    if has_parts(step):
        left = [_left(each, rows.get(f"{name}__{part}", X))
                for part, each in named_parts(step) if not is_private(each)]
        return _beside([*(np.where(each, np.nan, 0.0) for each in gaps), *left])
    if not any(each.any() for each in gaps):
        return None
    (missing,) = gaps
    plain = clone(step)._like_mapped(X)
    gapped = plain.copy()
    if hasattr(gapped, "mask"):
        return plain, gapped.mask(missing)
    gapped[missing] = np.nan
    return plain, gapped


def _beside(columns):
    """Return zero rows, and rows with gaps, infinities or strings of parts; or None."""
    # Other columns may depend on private outputs, so one column stands for all.
    if any(each.dtype == object for each in columns):
        words = next(each for each in columns if each.dtype == object)
        return np.zeros(words.shape), words
    odd = np.hstack(columns).sum(axis=1, keepdims=True) if columns else np.zeros((1, 0))
    return (np.zeros(odd.shape), odd) if np.any(odd != 0.0) else None


def _left(part, X):
    """Return the output of a part that learns nothing, with 0 for finite numbers.

    Output that is not numeric becomes one column of empty strings, which reveals no value.
    """
    n_samples = _num_samples(X)
    if isinstance(part, str) and part == "drop":
        return np.zeros((n_samples, 0))
    found = X if isinstance(part, str) else mapped(clone(part), X, n_samples)
    try:
        values = np.asarray(found, dtype=np.float64).reshape(n_samples, -1)
    except (TypeError, ValueError):
        return np.full((n_samples, 1), "", dtype=object)
    return np.where(np.isfinite(values), 0.0, np.abs(values))


def _behind(name, step, plain, gapped, y):
    """Return zero rows after a step, without and with gaps; raise its errors on gaps.

    None if the step refuses zeros even without gaps, because zeros then tell nothing.
    """
    private = any(is_private(each) for _, each in every_part([(name, step)]))
    try:
        if private:
            _check_parts(name, step, plain, y)
        else:
            plain = mapped(clone(step), plain, len(plain))
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    if not private and getattr(getattr(gapped, "dtype", None), "hasobject", False):
        # A function may accept only the strings that really occur.
        return None
    if not private:
        return plain, mapped(clone(step), gapped, len(gapped))
    _check_parts(name, step, gapped, y)
    return _stand_ins(name, step, gapped)

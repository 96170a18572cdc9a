"""Check rows for all private steps, before the first is fitted.

Rows of later steps follow from what is released, but whether something is missing in them does
not where earlier steps leave it so: rows of zeros with the same gaps stand for them.
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
from dpsk.pipeline._composition import NOTHING
from dpsk.pipeline._known import is_private
from dpsk.pipeline._parts import every_part, has_parts, named_parts, rows_of_parts
from dpsk.pipeline._rows import mapped

__all__ = ["check_tables"]


def check_tables(steps, X, y):
    """Raise what steps would of rows that come to the first of them, which is private."""
    _check_frame(*steps[0], X)
    _check_parts(*steps[0], X, y)
    _check_columns(steps, X, y)
    _check_gaps(steps, X, y)


def _check_columns(steps, X, y):
    """Raise what later private steps would of columns that are not there.

    Nothing is raised behind a step whose columns are not known.
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
    """Return the steps that are not left out, with those of pipelines in their place."""
    found = []
    for _, step in steps:
        if is_private(step) and hasattr(step, "steps"):
            found += _without_nesting(step.steps)
        elif step not in NOTHING:
            found.append(step)
    return found


def _zeros_behind(step, X):
    """Return rows of zeros with all columns that may come out of a step; None if not known."""
    if not hasattr(step, "transform") or isinstance(step, FunctionTransformer) or (
            not is_frame(X) and _get_output_config("transform", step)["dense"] != "default"):
        return None
    if is_private(step):
        return asked(step)._like_most(X)
    try:
        rows = mapped(clone(step), X, _num_samples(X))
    except (IndexError, KeyError, TypeError, ValueError):
        # A step may refuse zeros where it takes what is really there.
        return None
    is_numeric = type(rows) is np.ndarray and rows.dtype.kind == "f"
    return np.zeros_like(rows) if is_numeric else None


def _check_gaps(steps, X, y):
    """Raise what steps would of what is missing in rows that the first of them takes.

    Nothing is raised where a step may do anything else with what is missing.
    """
    rows = _stand_ins(*steps[0], X)
    for name, step in steps[1:]:
        if rows is None:
            return
        if step not in NOTHING:
            rows = without_warnings(_behind, name, step, *rows, y)


def _check_frame(name, step, X):
    """Raise what a step with parts would of its own parameters, and of names of columns.

    All but its private parts are fitted, to two rows: they map each by itself.
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
    """Raise what a step, or its parts, would of rows."""
    rows = rows_of_parts(name, step, X)
    for part, each in every_part([(name, step)]):
        if is_private(each):
            asked(clone(each))._check_table(rows[part], y)


def _stand_ins(name, step, X):
    """Return rows of zeros as they leave a private step, without gaps and with those of X.

    None where nothing is missing, or where it is not known to stay so.
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
    """Return rows of zeros, and those with what parts leave of gaps, infinities or words; or None.
    """
    # What other columns there are may follow from what is released: one stands for all.
    if any(each.dtype == object for each in columns):
        words = next(each for each in columns if each.dtype == object)
        return np.zeros(words.shape), words
    odd = np.hstack(columns).sum(axis=1, keepdims=True) if columns else np.zeros((1, 0))
    return (np.zeros(odd.shape), odd) if np.any(odd != 0.0) else None


def _left(part, X):
    """Return what a part that learns nothing leaves: 0 of a finite number, and what is not one.

    Of rows that are no numbers a column of words, which tells none of them.
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
    """Return rows without gaps and with them behind a step, or None; raise what it would of gaps.

    What it refuses without gaps as well is not told by zeros.
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
        # Words of its own may be all that a function takes.
        return None
    if not private:
        return plain, mapped(clone(step), gapped, len(gapped))
    _check_parts(name, step, gapped, y)
    return _stand_ins(name, step, gapped)

"""Checks of rows for all private steps, before the first fit.

The rows of later steps depend on private outputs, but their missing values do not if earlier steps
keep them. So rows of zeros with the same missing values stand in for the rows of later steps.
"""

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _num_samples, check_array

from dpsk._budgeted import asked
from dpsk._data.columns import is_frame
from dpsk._data.entries import WithoutNA, with_entries
from dpsk._data.errors import discreetly, without_warnings
from dpsk.pipeline._known import NOTHING, is_private
from dpsk.pipeline._parts import every_part, has_parts, named_parts, rows_of_parts
from dpsk.pipeline._rows import check_count, in_memory, made, mapped

__all__ = ["check_tables"]


def check_tables(steps, X, y):
    """Raise the errors of steps about rows X, which the first, private step takes."""
    _check_frame(*steps[0], X)
    _check_parts(*steps[0], X, y)
    _check_columns(steps, X, y)
    _check_gaps(steps, X, y)


def _check_columns(steps, X, y):
    """Raise the errors of later private steps about kinds of tables, and about their columns.

    Steps see what those before make of zeros. Nothing is raised after a step that refuses them, or
    whose output columns are unknown.
    """
    rows, before = X, None
    for step in _without_nesting(steps):
        if has_parts(step):
            if before is not None:
                without_warnings(_check_parts_on_zeros, step, in_memory(rows), y)
            return
        if before is not None:
            rows = rows if is_private(before) else without_warnings(_zeros, step, rows)
            if is_private(step):
                without_warnings(asked(clone(step))._check_table, rows, y)
        rows, before = without_warnings(_behind_zeros, step, rows), step
        if rows is None:
            return


def _check_parts_on_zeros(step, X, y):
    rows = rows_of_parts("", step, X)
    for part, each in every_part([("", step)]):
        if is_private(each):
            asked(clone(each))._check_table(_zeros(each, rows[part]), y)


def _without_nesting(steps):
    """Return all steps but "passthrough" and None; pipelines are replaced by their steps."""
    found = []
    for _, step in steps:
        if is_private(step) and hasattr(step, "steps"):
            found += _without_nesting(step.steps)
        elif step not in NOTHING:
            found.append(step)
    return found


def _behind_zeros(step, X):
    """Return rows with all possible output columns of a step, or None if these are unknown."""
    if not hasattr(step, "transform"):
        return None
    if is_private(step):
        is_known = is_frame(X) or _get_output_config("transform", step)["dense"] == "default"
        return asked(step)._like_most(X) if is_known else None
    step = clone(step)
    try:
        rows = made(step, X)
    except Exception:  # a step may refuse zeros, and still accept the real rows
        return None
    check_count(step, rows, _num_samples(X))
    return rows


def _zeros(step, X):
    """Return rows like X with 0 for all but words, which many steps refuse."""
    taken = get_tags(step).input_tags
    takes_words = taken.categorical or taken.string or not is_private(step)

    def zeros(values):
        if values.dtype.kind != "O":
            return np.zeros_like(values)
        values = _WITHOUT_NUMBERS(values)
        has_words = any(isinstance(cell, (str, bytes)) for cell in values.flat)
        return values if takes_words or has_words else values.astype(np.float64)

    return discreetly("X", with_entries, in_memory(X), zeros)


def _without_number(cell):
    if isinstance(cell, (str, bytes)):
        try:
            float(cell)
        except ValueError:
            return cell
    return 0.0


_WITHOUT_NUMBERS = np.frompyfunc(_without_number, 1, 1)


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
    found = WithoutNA()(X if isinstance(part, str) else mapped(clone(part), X, n_samples))
    try:
        values = np.asarray(found, dtype=np.float64).reshape(n_samples, -1)
    except Exception:  # whatever the conversion of a cell raises
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

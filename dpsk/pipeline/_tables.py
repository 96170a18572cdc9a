"""What private steps would refuse of rows, raised before the first is fitted.

Rows of later steps follow from what is released, but whether something is missing in them does
not where earlier steps leave it so: rows of zeros with the same gaps stand for them.
"""

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from dpsk._data.errors import without_warnings
from dpsk.pipeline._composition import NOTHING
from dpsk.pipeline._known import is_private
from dpsk.pipeline._parts import every_part, has_parts, named_parts, rows_of_parts
from dpsk.pipeline._rows import mapped

__all__ = ["check_gaps", "check_tables"]


def check_tables(steps, X, y):
    """Raise what steps would of rows that come to the first of them, which is private."""
    _check_parts(*steps[0], X, y)
    check_gaps(steps, X, y)


def check_gaps(steps, X, y):
    """Raise what steps would of what is missing in rows that the first of them takes.

    Nothing is raised where a step may do anything else with what is missing.
    """
    rows = _stand_ins(*steps[0], X)
    for name, step in steps[1:]:
        if rows is None:
            return
        if step not in NOTHING:
            rows = without_warnings(_behind, name, step, *rows, y)


def _check_parts(name, step, X, y):
    """Raise what a step, or its parts, would of rows."""
    rows = rows_of_parts(name, step, X)
    for part, each in every_part([(name, step)]):
        if is_private(each) and hasattr(each, "_check_table"):
            clone(each)._check_table(rows[part], y)


def _stand_ins(name, step, X):
    """Return rows of zeros as they leave a private step, without gaps and with those of X.

    None where nothing is missing, or where it is not known to stay so.
    """
    rows = rows_of_parts(name, step, X)
    gaps = [np.isnan(clone(each)._read(rows[part]).values)
            for part, each in every_part([(name, step)])
            if getattr(each, "_keeps_missing", False)]
    if has_parts(step):
        gaps += [_missing(each, rows.get(f"{name}__{part}", X))
                 for part, each in named_parts(step) if not is_private(each)]
    if not any(each.any() for each in gaps):
        return None
    if has_parts(step):
        # What other columns there are may follow from what is released.
        missing = np.hstack(gaps).any(axis=1, keepdims=True)
        return np.zeros(missing.shape), np.where(missing, np.nan, 0.0)
    (missing,) = gaps
    plain = clone(step)._like_mapped(X)
    gapped = plain.copy()
    if hasattr(gapped, "mask"):
        return plain, gapped.mask(missing)
    gapped[missing] = np.nan
    return plain, gapped


def _missing(part, X):
    """Return where numbers are missing behind a part that learns nothing, if that is known."""
    if isinstance(part, str) and part == "drop":
        return np.zeros((_num_samples(X), 0), dtype=bool)
    found = X if isinstance(part, str) else mapped(clone(part), X, _num_samples(X))
    try:
        return np.isnan(np.asarray(found, dtype=np.float64)).reshape(_num_samples(X), -1)
    except (TypeError, ValueError):
        return np.zeros((_num_samples(X), 0), dtype=bool)


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
    if not private:
        return plain, mapped(clone(step), gapped, len(gapped))
    _check_parts(name, step, gapped, y)
    return _stand_ins(name, step, gapped)

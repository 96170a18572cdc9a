"""Validate a caller's rows, and convert them to arrays for a fit or a prediction."""

import numpy as np
from sklearn import config_context
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, validate_data

from dpsk._data.columns import refuse_dates, refuse_twins
from dpsk._data.errors import discreetly
from dpsk._data.polars_frames import PolarsFrame, is_polars
from dpsk._data.structure import (
    check_cells,
    check_structure,
    refuse_masked,
    without_duplicates,
)
from dpsk._data.targets import numeric_targets
from dpsk._warnings import muted

__all__ = ["FLOATS", "check_block", "check_in_memory", "check_next_rows", "check_part",
           "check_prediction_rows", "check_public_rows", "check_rows", "check_unlabeled_rows",
           "count_rows", "in_single", "is_dask", "is_source", "refuse_source"]

#: Dtypes of rows that are kept; other dtypes are converted to the first.
FLOATS = [np.float64, np.float32]
_NAMED_COLUMNS = 5
#: Message about missing values, and the remedy that it adds in fits but not in predictions.
_GAPS = ("Input X contains NaN", " For missing values, put DPTableVectorizer or DPSimpleImputer "
         "before this step in a DPPipeline.")
#: Remedies for words in rows of numbers.
_ENCODE = ("encode public categories by DPOneHotEncoder(columns=...), or let "
           "make_dp_pipeline(DPTableVectorizer(), ...) find categories within the budget; convert "
           "other columns, or leave them out.")


def is_source(X):
    """Return whether X is a source of blocks, with `n`, `n_features` and `blocks()`."""
    kind = type(X)
    return callable(getattr(kind, "blocks", None)) and hasattr(X, "n_features") and hasattr(X, "n")


def is_dask(X):
    """Return whether X is a Dask collection, without importing Dask."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".")[0] == "dask"


def check_in_memory(name, does, X):
    """Raise a ValueError if X is not in memory; `name` and `does` explain why."""
    if is_source(X) or is_dask(X):
        raise ValueError(f"X of type {type(X).__name__}: {name} {does}, so it takes arrays, "
                         "tables and CSR matrices in memory only.")


def refuse_source(what, X):
    """Raise a TypeError if X is a source of blocks; `what` is its name in the message."""
    if is_source(X):
        raise TypeError(f"{what} is a source of rows in blocks ({type(X).__name__}), which are "
                        "read by predictions and by fits of classifiers and regressors of rows; "
                        "pass one array here, such as np.concatenate([*source.blocks()]) of "
                        "blocks without targets, or a memory map.")


def count_rows(name, X):
    """Return the number of rows for a fit of `name`; raise a ValueError if below two."""
    refuse_masked("X", X)
    n_samples = discreetly("X", _num_samples, X)
    if n_samples < 2:
        raise ValueError(f"Found array with {n_samples} sample(s) (shape={getattr(X, 'shape', ())}"
                         f") while a minimum of 2 is required by {name}.")
    return n_samples


def check_rows(estimator, X, y, *, called="y", **checks):
    """Return training rows and targets as arrays, in canonical format if sparse.

    Sets the number and names of features of the estimator. `checks` are parameters of
    scikit-learn's ``check_X_y``. Errors have its messages, without data values.
    """
    # Privacy bounds need finite rows, so no global setting may skip this check.
    with config_context(assume_finite=False):
        X, y = _validated("X or y", estimator, X, y, ensure_min_samples=2, **checks)
    y = numeric_targets(y, called) if checks.get("y_numeric") else y
    return without_duplicates(X), y


def check_block(estimator, X, **checks):
    """Return a block of training rows as an array, in canonical format if sparse."""
    with config_context(assume_finite=False):
        return without_duplicates(_validated("X", estimator, X, **checks))


def check_part(name, X, *, cuts=False, **checks):
    """Return zero or more rows like `check_block`, given only the estimator's `name`."""
    check_structure("X", X)
    checks = _of_doubles(checks) if cuts else checks
    with config_context(assume_finite=False, array_api_dispatch=False):
        X = without_duplicates(discreetly("X", check_array, X, estimator=name,
                                          ensure_min_samples=0, **checks))
    return in_single(X) if cuts else X


def check_unlabeled_rows(estimator, X, **checks):
    """Return training rows like `check_rows`, without targets."""
    with config_context(assume_finite=False):
        X = _validated("X", estimator, X, ensure_min_samples=2, **checks)
    return without_duplicates(X)


def check_public_rows(estimator, X, y, **checks):
    """Return public rows and targets, validated like training rows, or None."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise ValueError("public_X and public_y go together; pass both or leave both None.")
    with config_context(assume_finite=False):
        X, y = _validated("public_X or public_y", estimator, X, y, reset=False, **checks)
    y = numeric_targets(y) if checks.get("y_numeric") else y
    return without_duplicates(X), y


def check_next_rows(estimator, what, X, **checks):
    """Return finite rows with the columns of the training rows, as an array."""
    with config_context(assume_finite=False):
        return _validated(what, estimator, X, reset=False, **checks)


def check_prediction_rows(estimator, X, **checks):
    """Return rows for a prediction as an array, in canonical format if sparse."""
    return without_duplicates(_validated("X", estimator, X, reset=False, **checks))


def _of_doubles(checks):
    return {**checks, "dtype": FLOATS}


def in_single(X):
    """Return dense rows in single precision; numbers beyond it count as its largest."""
    if X.dtype == np.float32:
        return X
    most = float(np.finfo(np.float32).max)
    return np.clip(X, -most, most, out=np.empty(X.shape, np.float32), casting="unsafe")


def _validated(what, estimator, X, *y, cuts=False, **checks):
    """Return the result of `validate_data`; errors name non-numeric DataFrame columns.

    With `cuts`, dense rows are returned in single precision, and numbers beyond it are cut.
    """
    if cuts:
        found = _validated(what, estimator, X, *y, **_of_doubles(checks))
        return (in_single(found[0]), *found[1:]) if y else in_single(found)
    rows = what.partition(" or ")[0]
    refuse_source(rows, X)
    check_structure(rows, X)
    refuse_dates(PolarsFrame(X) if is_polars(X) else X)
    for each in y:
        check_cells("y", each, checks.get("y_numeric", False))
    try:
        with config_context(array_api_dispatch=False):
            return discreetly(what, validate_data, estimator, X, *y, **checks)
    except (TypeError, ValueError, OverflowError) as error:
        refusal = error
    if hasattr(X, "columns") and not len(X.columns):
        # scikit-learn fails on a DataFrame without columns, as it looks for a common dtype.
        raise ValueError(f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum "
                         f"of 1 is required by {type(estimator).__name__}.")
    columns = _columns_without_numbers(X)
    if not columns:
        refuse_twins(X)
        if str(refusal) == "Input contains NaN":
            # Messages about X name it, so this message without a name is about y.
            raise ValueError(f"Input {what.rpartition(' or ')[2]} contains NaN.")
        if checks.get("reset", True) and str(refusal).startswith(_GAPS[0]):
            raise ValueError(_GAPS[0] + "." + _GAPS[1])
        if str(refusal).startswith("could not convert string") and checks.get("reset", True) and (
                not _is_numeric(X)):
            raise ValueError(f"could not convert string to float; {rows} must be numeric; in a "
                             f"DataFrame with a dtype for each column, {_ENCODE}")
        raise refusal
    more = len(columns) - _NAMED_COLUMNS
    raise ValueError(f"{rows} is not numeric in {', '.join(columns[:_NAMED_COLUMNS])}"
                     f"{f' and {more} more columns' if more > 0 else ''}; {_ENCODE}")


def _is_numeric(cells):
    """Return whether an array or a column can be read as numbers."""
    try:
        with muted(), np.errstate(all="ignore"):
            np.asarray(cells, dtype=np.float64)
    except Exception:  # whatever an entry raises
        return False
    return True


def _columns_without_numbers(X):
    """Return names and dtypes of the DataFrame columns that are not numeric."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return []
    found = []
    for place, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        # Use the name of the dtype, because its string may list categories.
        kind = getattr(dtype, "name", None) or type(dtype).__name__
        column = X.iloc[:, place] if hasattr(X, "iloc") else X[name]
        if not _is_numeric(column):
            found.append(f"column {name!r} ({kind})")
    return found

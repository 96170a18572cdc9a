"""Rows as a caller hands them over, to arrays that a fit or a prediction may use."""

import numpy as np
from sklearn import config_context
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, validate_data

from dpsk._data.columns import refuse_dates, refuse_twins
from dpsk._data.errors import discreetly
from dpsk._data.structure import (
    check_structure,
    check_target_cells,
    refuse_masked,
    without_duplicates,
)
from dpsk._warnings import muted

__all__ = ["FLOATS", "check_block", "check_in_memory", "check_next_rows", "check_part",
           "check_prediction_rows", "check_public_rows", "check_rows", "check_unlabeled_rows",
           "count_rows", "is_dask", "is_source", "refuse_source"]

#: The types of rows that are kept; others become the first.
FLOATS = [np.float64, np.float32]
_NAMED_COLUMNS = 5
#: What a fit says beside gaps; predictions are told how the model was fitted.
_GAPS = ("Input X contains NaN", " For missing values, put DPTableVectorizer or DPSimpleImputer "
         "before this step in a DPPipeline.")


def is_source(X):
    """Return whether rows come in blocks: from an object with `n`, `n_features` and `blocks()`."""
    kind = type(X)
    return callable(getattr(kind, "blocks", None)) and hasattr(X, "n_features") and hasattr(X, "n")


def is_dask(X):
    """Return whether an object is a collection of Dask, which is not imported for that."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".")[0] == "dask"


def check_in_memory(name, does, X):
    """Raise a ValueError where rows do not lie in memory, as what `name` does asks for."""
    if is_source(X) or is_dask(X):
        raise ValueError(f"X of type {type(X).__name__}: {name} {does}, so it takes arrays, "
                         "tables and CSR matrices in memory only.")


def refuse_source(what, X):
    """Raise a TypeError where rows that are needed in memory, called `what`, come in blocks."""
    if is_source(X):
        raise TypeError(f"{what} is a source of rows in blocks ({type(X).__name__}), which are "
                        "read by predictions and by fits of classifiers and regressors of rows; "
                        "pass one array here, such as np.concatenate([*source.blocks()]) of "
                        "blocks without targets, or a memory map.")


def count_rows(name, X):
    """Return the number of rows for the fit of `name`; a ValueError where they are too few."""
    refuse_masked("X", X)
    n_samples = discreetly("X", _num_samples, X)
    if n_samples < 2:
        raise ValueError(f"Found array with {n_samples} sample(s) (shape={getattr(X, 'shape', ())}"
                         f") while a minimum of 2 is required by {name}.")
    return n_samples


def check_rows(estimator, X, y, **checks):
    """Return training rows and targets as arrays, in one entry a place if sparse.

    The estimator's number and names of features are set. `checks` are of scikit-learn's
    ``check_X_y``; errors are in its words, without a data value.
    """
    # Finite rows are what bounds rest on: no global setting may skip the check.
    with config_context(assume_finite=False):
        X, y = _validated("X or y", estimator, X, y, ensure_min_samples=2, **checks)
    return without_duplicates(X), y


def check_block(estimator, X, **checks):
    """Return some of the training rows of a source as an array, in one entry a place if sparse."""
    with config_context(assume_finite=False):
        return without_duplicates(_validated("X", estimator, X, **checks))


def check_part(name, X, **checks):
    """Return rows, maybe none, as `check_block` does, for an estimator known by its `name` only.
    """
    check_structure("X", X)
    with config_context(assume_finite=False, array_api_dispatch=False):
        return without_duplicates(discreetly("X", check_array, X, estimator=name,
                                             ensure_min_samples=0, **checks))


def check_unlabeled_rows(estimator, X, **checks):
    """Return training rows as `check_rows` does, where there are no targets."""
    with config_context(assume_finite=False):
        X = _validated("X", estimator, X, ensure_min_samples=2, **checks)
    return without_duplicates(X)


def check_public_rows(estimator, X, y, **checks):
    """Return public rows and targets, checked as training rows are, or None without any."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise ValueError("public_X and public_y go together; pass both or leave both None.")
    with config_context(assume_finite=False):
        X, y = _validated("public_X or public_y", estimator, X, y, reset=False, **checks)
    return without_duplicates(X), y


def check_next_rows(estimator, what, X, **checks):
    """Return rows that go with training rows, of as many columns and as finite, as an array."""
    with config_context(assume_finite=False):
        return _validated(what, estimator, X, reset=False, **checks)


def check_prediction_rows(estimator, X, **checks):
    """Return rows to predict for as an array, in one entry a place if sparse."""
    return without_duplicates(_validated("X", estimator, X, reset=False, **checks))


def _validated(what, estimator, X, *y, **checks):
    """Return what `validate_data` does; name a frame's columns that are not numeric."""
    rows = what.partition(" or ")[0]
    refuse_source(rows, X)
    check_structure(rows, X)
    refuse_dates(X)
    for each in y:
        check_target_cells(each, checks.get("y_numeric", False))
    try:
        with config_context(array_api_dispatch=False):
            return discreetly(what, validate_data, estimator, X, *y, **checks)
    except (TypeError, ValueError, OverflowError) as error:
        refusal = error
    if hasattr(X, "columns") and not len(X.columns):
        # scikit-learn looks for a dtype among no columns.
        raise ValueError(f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum "
                         f"of 1 is required by {type(estimator).__name__}.")
    columns = _columns_without_numbers(X)
    if not columns:
        refuse_twins(X)
        if str(refusal) == "Input contains NaN":
            # X has been made numbers by then, of which messages have the name.
            raise ValueError(f"Input {what.rpartition(' or ')[2]} contains NaN.")
        if checks.get("reset", True) and str(refusal).startswith(_GAPS[0]):
            raise ValueError(_GAPS[0] + "." + _GAPS[1])
        raise refusal
    more = len(columns) - _NAMED_COLUMNS
    raise ValueError(f"{rows} is not numeric in {', '.join(columns[:_NAMED_COLUMNS])}"
                     f"{f' and {more} more columns' if more > 0 else ''}; encode public "
                     "categories by OneHotEncoder(categories=...), or let "
                     "make_dp_pipeline(DPTableVectorizer(), ...) find categories within the "
                     "budget; convert other columns, or leave them out.")


def _columns_without_numbers(X):
    """Return, with their kinds, the columns of a data frame that do not become numbers."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return []
    found = []
    for place, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        # The text of a dtype may list categories.
        kind = getattr(dtype, "name", None) or type(dtype).__name__
        column = X.iloc[:, place] if hasattr(X, "iloc") else X[name]
        try:
            with muted(), np.errstate(all="ignore"):
                np.asarray(column, dtype=np.float64)
        except Exception:  # whatever an entry raises
            found.append(f"column {name!r} ({kind})")
    return found

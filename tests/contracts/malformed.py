"""Broken sparse matrices against every entry for rows, in a process that may crash.

``python -m tests.contracts.malformed validation`` or ``entries``; exit status 0 where all is well.
"""

import sys
import warnings
from inspect import signature

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from dpsk import DPLogisticRegression
from dpsk._data.validation import FLOATS, check_prediction_rows, check_public_rows, check_rows
from tests.registry import ESTIMATORS, LINEAR, is_linear

__all__ = ["main"]

#: In entries and in indices; no message may hold it.
_VALUE = 31337
_FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dia", "dok")
_INDICES = [-1, -2, 7, _VALUE, -_VALUE, 2**31 - 1, -2**31, 2**62, -2**62]
_ENTRIES = [np.nan, np.inf, -np.inf, 1e308, 0.0, _VALUE]
_DTYPES = ["i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", "g", "?", "O", "c16", "U5", ">i4",
           ">f8", "M8[s]"]
_PARTS = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"),
          "bsr": ("data", "indices", "indptr"), "coo": ("data", "row", "col"),
          "dia": ("data", "offsets"), "lil": ("data", "rows"), "dok": ()}


def _matrix(rng, form, shape):
    """Return a matrix in `form` that is as it should be."""
    X = np.where(rng.random(shape) < 0.5, rng.normal(size=shape), 0.0)
    kind = rng.choice(["matrix", "array"])
    return getattr(sp, f"{form}_{kind}")(X.astype(rng.choice(["f4", "f8"])))


def _broken(rng, X):
    """Overwrite something behind X."""
    if X.format == "dok":
        row = rng.choice([0, *_INDICES])
        getattr(X, "_dict", X)[(row, 0, 0) if rng.random() < 0.1 else (row, 1)] = _VALUE
        return
    if rng.random() < 0.05:
        X._shape = tuple(int(size) for size in rng.integers(0, 9, size=2))
        return
    name = rng.choice(_PARTS[X.format])
    part = getattr(X, name)
    # A coordinate of some versions is a copy.
    setattr(X, name, _changed(rng, name, part.copy()))


def _changed(rng, name, part):
    how = rng.integers(9)
    if how <= 3 and part.size:
        value = rng.choice(_ENTRIES if name == "data" else _INDICES)
        if part.dtype == object:
            value = [value] * rng.integers(4)
        with np.errstate(all="ignore"):
            place = rng.integers(part.shape[0])
            try:
                part[place] = value
            except OverflowError:
                part = part.astype(np.int64)
                part[place] = value
    elif how == 4:
        part = part[:rng.integers(len(part) + 1)]
    elif how == 5:
        part = np.concatenate([part, part[:2]])
    elif how == 6:
        part = part[::-1]
    elif how == 7:
        try:
            part = part.astype(rng.choice(_DTYPES))
        except (TypeError, ValueError):
            part = part.tolist()
    else:
        others = [None, [], part.tolist(), part[None], np.array(_VALUE), f"{_VALUE}"]
        part = others[rng.integers(len(others))]
    return part


def _is_refused(call, *args, kind=ValueError, **kwargs):
    """Return whether a call raises an error of a kind; let it say nothing of the rows."""
    try:
        call(*args, **kwargs)
    except kind as error:
        said = f"{error!r} {error.__cause__!r} {error.__context__!r}"
        if str(_VALUE) in said or not said.endswith("None None"):
            raise AssertionError(f"says too much: {said}") from error
        return True
    return False


def _validation(rng, count):
    """Send so many broken matrices through every function that validates rows."""
    model = DPLogisticRegression().fit(np.eye(6)[:, :5], np.arange(6) % 2)
    checks = {"dtype": FLOATS, "accept_sparse": "csr"}
    y, found = np.arange(6), []
    ways = [lambda X: found.append(check_rows(clone(model), X, y, **checks)[0]),
            lambda X: found.append(check_public_rows(model, X, y, **checks)[0]),
            lambda X: found.append(check_prediction_rows(model, X, **checks))]
    refused = 0
    for number in range(count):
        X = _matrix(rng, _FORMATS[number % len(_FORMATS)], (6, 5))
        for _ in range(rng.integers(1, 4)):
            try:
                _broken(rng, X)
            except (AttributeError, IndexError, OverflowError, TypeError, ValueError):
                break  # broken beyond what the next change takes
        refused += _is_refused(ways[number % 3], X)
    for rows in found:
        rows.check_format(full_check=True)
        assert rows.has_canonical_format and rows.dtype in FLOATS
        assert np.isfinite(rows.data).all()
    print(f"{refused} refused, {len(found)} taken")
    assert len(found) > count // 100 and refused + len(found) == count


def _with_a_far_index(form, far):
    """Return a matrix of 20 x 3 with one index far outside of it, which SciPy would follow."""
    X = getattr(sp, f"{form}_array")(np.arange(1.0, 61).reshape(20, 3))
    if form == "lil":
        X.rows[4][1] = far
    elif form == "dok":
        X._dict[(far, 1)] = 1.0
    else:
        getattr(X, {"coo": "col", "dia": "offsets"}.get(form, "indices"))[-1] = far
    return X


def _entries():
    """Send them through every method that takes rows."""
    y, dense = np.arange(20) % 2, np.eye(20)[:, :3]
    for name, cls in sorted(ESTIMATORS.items()):
        fitted = cls().fit(dense, y)
        methods = [method for method in ("predict", "decision_function", "predict_proba",
                                         "predict_log_proba") if hasattr(fitted, method)]
        for form in _FORMATS if is_linear(cls) else ("csr", "coo"):
            for far in (-10**6, 10**6):
                X = _with_a_far_index(form, far)
                assert _is_refused(cls().fit, X, y) and _is_refused(fitted.score, X, y)
                # Where no sparse matrix is taken, scikit-learn has an error of type.
                assert _is_refused(cls().fit, dense, X, kind=(TypeError, ValueError))
                assert _is_refused(cls().fit, dense, y, X, kind=(TypeError, ValueError))
                assert all(_is_refused(getattr(fitted, method), X) for method in methods)
        print(name, *methods)
    for cls in LINEAR.values():
        if "public_X" not in signature(cls.fit).parameters:
            continue
        model = cls(solver="stgd", solver_options={"holdout": "public"})
        for form in _FORMATS:
            for far in (-10**6, 10**6):
                X = _with_a_far_index(form, far)
                assert _is_refused(model.fit, dense, y, public_X=X, public_y=y)


def main(part, count):
    """Run one part; raise where something is not refused as it should be."""
    warnings.simplefilter("ignore")
    if part == "validation":
        _validation(np.random.default_rng(0), count)
    else:
        _entries()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

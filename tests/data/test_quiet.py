"""No setting for floating-point errors or warnings makes a fit depend on which rows raise them."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import special
from sklearn.base import is_classifier

from tests.instruments import fixed_streams
from tests.registry import (
    coefficients,
    declared,
    every_estimator,
    every_fit,
    is_linear,
    make_estimator,
    plain_solver,
    training_rows,
)

#: Of which scores, squares and exponentials under- and overflow.
_SIZES = (0.0, 5e-324, 1e-300, 1e-160, 1.0, 1e4, 1e160, 1.7e308)
_SINGLE_SIZES = (0.0, 1e-45, 1e-38, 1e-20, 1.0, 1e4, 1e20, 3e38)


def _extreme_rows(cls):
    X, y = training_rows(cls())
    sizes = _SIZES if is_linear(cls) else _SINGLE_SIZES
    # As signs, as a product with a size would overflow.
    X[:64] = np.copysign(np.repeat(sizes, 8)[:, None], X[:64])
    X[3] = [sizes[1], sizes[-1], 0.0, -1.0]
    if not is_classifier(cls()):
        y[1], y[2], y[5] = 1.7e308, -1.7e308, 5e-324
    return X, y


def _outcome(model, X, y, weights=None):
    """Return everything trained, predicted and said under one fixed stream."""
    with fixed_streams():
        model.fit(X, y, sample_weight=weights)
    said = [getattr(model, name)(X) for name in ("predict", "decision_function", "predict_proba",
                                                 "predict_log_proba") if hasattr(model, name)]
    return [coefficients(model), *said]


def _loudly(function, *args):
    """Call with every floating-point error and every warning set to raise."""
    with warnings.catch_warnings(), np.errstate(all="raise"), special.errstate(all="raise"):
        warnings.simplefilter("error")
        return function(*args)


def _same(one, other):
    assert all(np.array_equal(*pair, equal_nan=True) for pair in zip(one, other, strict=True))


@pytest.mark.covering
@every_fit
def test_fits_and_predictions_are_the_same_whatever_errors_are_set_to_raise(cls, solver):
    model = make_estimator(cls, solver, delta=1e-4)
    X, y = _extreme_rows(cls)
    _same(_outcome(model, X, y), _loudly(_outcome, model, X, y))


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("variant", ["weights", "sparse", "single", "steps"])
def test_the_same_holds_for_other_rows(cls, variant):
    # Enough for slopes, and for a bound on weights; a warning would say that there are none.
    model = cls(epsilon=8.0 if variant == "weights" else 4.0, **declared(cls))
    if variant == "steps":
        # Scores far beyond where exponentials overflow.
        model = make_estimator(cls, plain_solver(cls), learning_rate=1e6, data_norm=1e10,
                               precondition=False)
    X, y = _extreme_rows(cls)
    weights = None
    if variant == "weights":
        weights = np.resize([0.0, 5e-324, 1.0, 1e300], len(y))
    if variant == "sparse":
        if not is_linear(cls):
            pytest.skip("takes dense rows")
        X = sp.csr_array(X)
    if variant == "single":
        X = np.clip(X, -3e38, 3e38).astype(np.float32)
    _same(_outcome(model, X, y, weights), _loudly(_outcome, model, X, y, weights))


@every_estimator
def test_settings_are_left_as_they_were(cls):
    X, y = training_rows(cls())
    with np.errstate(all="raise"), special.errstate(all="raise"):
        before = np.geterr(), special.geterr()
        cls().fit(X, y).predict(X)
        with pytest.raises(ValueError):
            cls().fit(X[:1], y[:1])
        assert (np.geterr(), special.geterr()) == before

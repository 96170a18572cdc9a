"""Whitened fits: what is released, what it costs, and that prediction is linear all the same."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import load_iris

from dpsk import DPPoissonRegressor
from dpsk.testing import NoiseSeed
from tests.estimators.pairs import build
from tests.registry import (
    ALL_SOLVERS,
    LINEAR,
    coefficients,
    documented_solvers,
    every_linear_estimator,
    pair_marks,
    plain_solver,
    takes_pure_epsilon,
    takes_several_classes,
    training_rows,
    where_sets_may_be_needed,
)

WHITENING = [pytest.param(cls, solver, id=f"{name}-{solver}",
                          marks=pair_marks(cls, solver, linear=True))
             for name, cls in sorted(LINEAR.items())
             for solver in sorted(documented_solvers(cls)) if ALL_SOLVERS[solver].whitens]
every_whitened_fit = pytest.mark.parametrize("cls, solver", WHITENING)


def _fit(cls, solver, **params):
    model = build(cls, solver, precondition=True, **params)
    X, y = training_rows(model)
    return model.fit(X, y), X


def score_by_hand(model, X):
    """Return the prediction from the attributes alone."""
    raw = np.asarray(X, dtype=float) @ model.coef_.T + model.intercept_
    if is_classifier(model):
        raw = raw - getattr(model, "offset_", 0.0)
        return raw[:, 0] if raw.shape[1] == 1 else raw
    return np.clip(np.exp(raw) if isinstance(model, DPPoissonRegressor) else raw,
                   *model.target_bounds_)


#: Rows are shortened by this factor more than to their bound.
HEADROOM = 1.0 - 2.0**-24


def curved_by_hand(model, X):
    """Return the score of rows of one length, with head-room, as the docstring has it."""
    X = np.asarray(X, dtype=float)
    constants = np.minimum(1.0, HEADROOM * model.data_norm / np.linalg.norm(X, axis=1))
    # Rows of scores are scaled as a whole.
    entering = np.column_stack([X, np.ones(len(X))]) * constants[:, None]
    size = len(model.preconditioner_)
    lengths = np.linalg.norm(entering[:, :size] @ model.preconditioner_, axis=1)
    raw = entering[:, :-1] @ model.coef_.T + np.outer(constants, model.intercept_)
    raw *= (HEADROOM / lengths)[:, None]
    raw = raw - getattr(model, "offset_", 0.0)
    return raw[:, 0] if raw.shape[1] == 1 else raw


@pytest.mark.covering
@every_whitened_fit
@pytest.mark.parametrize("params", [{}, {"fit_intercept": False}, {"data_norm": 3.0},
                                    {"data_norm": 0.2}], ids=str)
def test_prediction_follows_from_the_released_attributes(cls, solver, params):
    model, X = _fit(cls, solver, **params)
    new = np.vstack([X, 100 * X, 1e-3 * X, np.random.default_rng(1).normal(size=X.shape)])
    for one in (model, pickle.loads(pickle.dumps(model))):
        score = getattr(one, "decision_function", one.predict)
        # Exponentials of long rows are larger than any float.
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(score(new), score_by_hand(model, new), rtol=1e-9,
                                       atol=1e-12)
    size = 4 + model.fit_intercept
    assert model.preconditioner_.shape == (size, size)
    # In the unit of the bound on rows it is symmetric.
    in_unit = model.preconditioner_ * np.r_[[model.data_norm] * 4, [1.0] * (size - 4)][:, None]
    np.testing.assert_allclose(in_unit, in_unit.T, rtol=1e-9)


@pytest.mark.parametrize("cls, solver", [case for case in WHITENING
                                         if is_classifier(case.values[0]())
                                         and takes_several_classes(*case.values)])
def test_prediction_follows_from_the_released_attributes_for_three_classes(cls, solver):
    X, y = load_iris(return_X_y=True)
    model = build(cls, solver, precondition=True, data_norm=5.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), score_by_hand(model, X), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X),
                                  score_by_hand(model, X).argmax(axis=1))


@pytest.mark.parametrize("cls, solver", [case for case in WHITENING
                                         if is_classifier(case.values[0]())])
@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_rows_of_one_length_are_so_in_prediction_too(cls, solver, dtype, rtol):
    model = build(cls, solver, precondition="unit_norm")
    X, y = training_rows(model)
    X = X.astype(dtype)
    model.fit(X, y)
    new = np.vstack([X, 100 * X, 1e-3 * X]).astype(dtype)
    expected = curved_by_hand(model, new)
    for one in (model, pickle.loads(pickle.dumps(model))):
        score = one.decision_function(new)
        assert score.dtype == dtype
        np.testing.assert_allclose(score, expected, rtol=rtol, atol=100 * rtol)
    np.testing.assert_allclose(model.decision_function(sparse.csr_matrix(new)),
                               model.decision_function(new), rtol=1e-4, atol=1e-6)


@every_linear_estimator
def test_rows_of_one_length_are_for_scores_only(cls):
    if is_classifier(cls()):
        pytest.skip("a score")
    with pytest.raises(ValueError, match=r"precondition='unit_norm': .* leave precondition"):
        cls(precondition="unit_norm").fit(*training_rows(cls()))


@pytest.mark.covering(most=8)
@every_whitened_fit
def test_the_container_makes_no_difference(cls, solver):
    model = build(cls, solver, precondition=True, random_state=NoiseSeed(0))
    X, y = training_rows(model)
    X[np.abs(X) < 0.5] = 0.0
    dense, *others = (coefficients(model.fit(rows, y)) for rows in (
        X, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X),
        sparse.coo_matrix(X)))
    exact = model.privacy_.arithmetic == "grid"
    for other in others:
        np.testing.assert_allclose(other, dense, rtol=0 if exact else 1e-9)


@where_sets_may_be_needed(every_whitened_fit)
def test_the_matrix_is_listed_among_what_is_released(cls, solver):
    model, _ = _fit(cls, solver)
    assert "preconditioner_" in model.privacy_.released
    assert "preconditioner_" in str(model.privacy_)
    plain = build(cls, solver, precondition=False).fit(*training_rows(model))
    assert plain.preconditioner_ is None and "preconditioner_" not in plain.privacy_.released


@every_linear_estimator
def test_it_is_on_by_default_where_the_public_rule_says_so(cls):
    X, y = training_rows(cls())
    plain = {"alpha": 0.0, "solver": plain_solver(cls), "penalty": "l2", "epsilon": 8.0,
             "data_norm": 1.0}
    assert cls(**plain).fit(X, y).preconditioner_ is not None
    assert cls(**{**plain, "alpha": 0.1}).fit(X, y).preconditioner_ is not None
    for params in ({"penalty": "l1", "alpha": 0.1}, {"penalty": "l1_ball", "radius": 1.0},
                   {"penalty": "l2_ball", "radius": 1.0}, {"precondition": False}):
        assert cls(**{**plain, **params}).fit(X, y).preconditioner_ is None
    if is_classifier(cls()) and takes_pure_epsilon(cls):
        assert cls(alpha=0.0, delta=0).fit(X, y).preconditioner_ is None
    wide = np.random.default_rng(0).normal(size=(20, 2001))
    targets = y[:20] if not is_classifier(cls()) else np.arange(20) % 2
    assert cls(**plain, max_iter=2).fit(wide, targets).preconditioner_ is None


@where_sets_may_be_needed(every_whitened_fit)
def test_the_row_bound_says_that_rows_are_mapped(cls, solver):
    whitened, _ = _fit(cls, solver)
    plain = build(cls, solver, precondition=False).fit(*training_rows(whitened))
    texts = [next(bound.how for bound in model.privacy_.enforced if bound.name == "data_norm")
             for model in (whitened, plain)]
    assert texts[0] != texts[1] and "preconditioner" in texts[0]


@every_whitened_fit
def test_float32_stays_float32(cls, solver):
    model = build(cls, solver, precondition=True)
    X, y = training_rows(model)
    X = X.astype(np.float32)
    model.fit(X, y)
    assert model.coef_.dtype == model.preconditioner_.dtype == np.float32
    score = getattr(model, "decision_function", model.predict)
    assert score(X).dtype == np.float32
    np.testing.assert_allclose(score(X), score_by_hand(model, X), rtol=1e-4, atol=1e-4)

"""scikit-learn's own checks over every estimator and solver, and the truth of the tags."""

import re

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk.testing import NoiseSeed
from tests.estimators.pairs import build, every_refusal, requirement_texts
from tests.registry import (
    ALL_SOLVERS,
    ESTIMATORS,
    SETS,
    documented_solvers,
    every_estimator,
    every_fit,
    is_linear,
    is_tried_by_a_classifier,
    pair_marks,
    takes_no_set,
    training_rows,
)
from tests.sklearn_checks import WEIGHTS, ids_of, run_check

_NO_STEPS = {"check_class_weight_classifiers":
             "the check sets max_iter, which this solver has no use for and refuses"}
#: Checks whose tables are not whitened, where the ball is needed.
_IN_A_SET = dict.fromkeys((
    "check_n_features_in_after_fitting", "check_estimators_dtypes", "check_dtype_object",
    "check_estimators_nan_inf", "check_regressors_no_decision_function", "check_regressors_int"),
    "the solver takes no ball, and refuses")
#: Slow checks that "auto" passes for all solvers: test_sparse has both containers with each of
#: them, test_weights the weights of classes.
_OF_ANY_SOLVER = {"check_estimator_sparse_matrix", "check_estimator_sparse_array",
                  "check_class_weight_classifiers"}
#: A classifier, a regressor and a network meet all checks in `make test`; others share code.
_IN_FULL = {"DPLogisticRegression", "DPRidge", "DPMLPClassifier"}
#: Pairs whose intercept, of a few rows, is so noisy that all predictions are cut to one bound.
_AT_A_BOUND = {("DPLasso", "svrgpp")}


def _expected(estimator):
    """Return the checks that must fail; rows that are refused fail no check of weights."""
    kinds = ["dense", "sparse"] if estimator.__sklearn_tags__().input_tags.sparse else ["dense"]
    weights = {f"check_sample_weight_equivalence_on_{kind}_data": WEIGHTS for kind in kinds}
    solver = ALL_SOLVERS.get(estimator.solver)
    steps = solver is None or "max_iter" not in solver.ignores or not is_classifier(estimator)
    in_a_set = solver is not None and takes_no_set(type(estimator), estimator.solver)
    return {**weights, **({} if steps else _NO_STEPS), **(_IN_A_SET if in_a_set else {})}


def _checked():
    """Yield every estimator as it comes, and with every solver under a seed."""
    for _, cls in sorted(ESTIMATORS.items()):
        yield cls()
        yield cls(random_state=NoiseSeed(0))
        for solver in sorted(documented_solvers(cls)):
            # As many steps as fits of networks have: no check is about what more of them find.
            yield build(cls, solver, random_state=NoiseSeed(0), max_iter=30)


_CHECKS = parametrize_with_checks(list(_checked()))


def _marked(case):
    """Return a case of scikit-learn's, marked as the pair of estimator and solver is."""
    # scikit-learn 1.6 gives plain tuples, newer versions parameters with marks.
    values = getattr(case, "values", case)
    estimator, check = values
    named = estimator.solver != "auto"
    marks = pair_marks(type(estimator), estimator.solver) if named else ()
    # With fresh noise, what the same check has seen with noise that repeats.
    again = estimator.random_state is None and type(estimator).__name__ != "DPLogisticRegression"
    again |= named and is_tried_by_a_classifier(type(estimator), estimator.solver)
    if again or (named and check.func.__name__ in _OF_ANY_SOLVER):
        marks = pytest.mark.audit
    elif named:
        marks = [*marks, pytest.mark.thorough]
    elif type(estimator).__name__ not in _IN_FULL:
        marks = pytest.mark.covering
    return pytest.param(*values, marks=marks)


# A check sets alpha of every regressor, whatever its penalty.
@pytest.mark.filterwarnings("ignore:alpha=0.01. has no effect:UserWarning")
@pytest.mark.parametrize(_CHECKS.args[0], list(map(_marked, _CHECKS.args[1])),
                         ids=ids_of(_CHECKS))
def test_scikit_learn_checks(estimator, check, monkeypatch):
    if check.func.__name__ not in _expected(estimator):
        run_check(estimator, check, monkeypatch)
        return
    may_agree = (type(estimator).__name__, estimator.solver) in _AT_A_BOUND or (
        estimator.random_state is None and is_regressor(estimator))
    if may_agree and "weight_equivalence" in check.func.__name__:
        pytest.skip("predictions of fifteen rows may be one bound, with and without weights")
    # As an expected failure of pytest's, whose report of a traceback takes longer than the check.
    with pytest.raises((AssertionError, ValueError)):
        run_check(estimator, check, monkeypatch)


@pytest.mark.covering
@every_refusal
@pytest.mark.parametrize("params", [{}, {"alpha": 0.1}, {"alpha": 0.1, "clip_norm": 0.5}],
                         ids=["plain", "ridge", "clipped"])
def test_a_solver_that_is_not_offered_is_refused_with_the_need_it_names(cls, solver, params):
    if params and getattr(cls(), "penalty", None) in SETS:
        params = {**params, "penalty": "l2"}
    model = build(cls, solver, **params)
    with pytest.raises(ValueError) as caught:
        model.fit(*training_rows(model))
    text = str(caught.value)
    assert any(re.fullmatch(pattern, text) for pattern in requirement_texts(solver)), text
    assert ("use " in text or "set " in text) and not hasattr(model, "privacy_")


@every_estimator
def test_tags_claim_no_more_than_is_measured(cls):
    assert is_classifier(cls()) != is_regressor(cls())
    tags = cls().__sklearn_tags__()
    assert tags.target_tags.required
    assert tags.input_tags.sparse == is_linear(cls) and not tags.input_tags.allow_nan
    assert not tags.no_validation
    for random_state in (None, 0, np.int64(0), NoiseSeed(0)):
        deterministic = isinstance(random_state, NoiseSeed)
        tags = cls(random_state=random_state).__sklearn_tags__()
        assert tags.non_deterministic is not deterministic
    kind = tags.classifier_tags if is_classifier(cls()) else tags.regressor_tags
    assert kind.poor_score


def _blobs():
    X, y = make_blobs(n_samples=300, random_state=0)
    X, y = StandardScaler().fit_transform(X)[y != 2], y[y != 2]
    return X, y


@pytest.mark.covering(most=4)
@every_fit
def test_classifiers_separate_blobs_of_two_hundred_rows_all_the_same(cls, solver):
    """What the poor_score tag leaves out of scikit-learn's checks, over repeated fits.

    A fifteenth of the fits of "privatediff", the worst, are not above 0.83, so more than half of
    45 are not with probability below 1e-8, and below 1e-7 were it a seventh. Once more than half
    are, the median is. Directions at random, where classes lie apart, are above in a quarter.
    """
    if not is_classifier(cls()):
        pytest.skip("a regressor")
    X, y = _blobs()
    runs, above = 0, 0
    while above < 23 and runs < 45:
        score = build(cls, solver, epsilon=3.0).fit(X, y).score(X, y)
        runs, above = runs + 1, above + (score > 0.83)
    print(f"{cls.__name__} {solver}: {above} of {runs}")
    assert above == 23

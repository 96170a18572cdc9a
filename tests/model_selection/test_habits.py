"""Searches with the parameters of scikit-learn's, and inside of other estimators."""

import math
import warnings

import joblib
import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.accounting import BestOf
from dpsk.exceptions import PrivacyWarning
from dpsk.metrics import dp_cross_validate
from dpsk.testing import NoiseSeed
from tests.events import tally
from tests.model_selection.test_searches import grid, rows


def short(**params):
    return grid(DPLogisticRegression(solver="gd", max_iter=2), **{
        "n_iter": 2, "epsilon": 20.0, **params})


@pytest.mark.parametrize("backend", [
    "threading", pytest.param("loky", marks=pytest.mark.thorough)])
def test_runs_beside_each_other_are_charged_once_and_give_the_same(backend):
    X, y = rows()
    found = []
    for n_jobs in (None, 2):
        with PrivacyBudget(5.0, 1e-3) as budget, joblib.parallel_config(backend=backend):
            search = short(n_jobs=n_jobs, random_state=NoiseSeed(3), epsilon=1.0,
                           delta=1e-5).fit(X, y)
        assert len(budget.charges) == 1
        found.append((search.best_estimator_.coef_.tolist(), search.best_params_,
                      search.cv_results_["std_test_score"].tolist(), budget.spent))
    np.testing.assert_equal(*found)


def test_what_joblib_is_told_to_print_does_not_count_the_runs(capfd):
    with joblib.parallel_config(backend="threading", verbose=50):
        short(n_jobs=2, n_iter=4, random_state=NoiseSeed(3)).fit(*rows())
    assert capfd.readouterr() == ("", "")


def test_a_model_of_an_earlier_search_is_not_kept_beside_what_is_told_of_the_next():
    search = short(random_state=NoiseSeed(3)).fit(*rows())
    search.set_params(refit=False).fit(*rows())
    assert not hasattr(search, "best_estimator_")
    assert "best_estimator_" not in search.privacy_.released


def test_a_search_that_keeps_no_model_does_not_predict_by_the_given_one():
    X, y = rows()
    given = DPLogisticRegression(solver="gd", max_iter=2).fit(X, 1 - y)
    search = grid(given, n_iter=2, epsilon=20.0, refit=False).fit(X, y)
    assert not hasattr(search, "predict") and not hasattr(search, "predict_proba")
    with pytest.raises(AttributeError, match="refit=False: no model is kept"):
        search.score(X, y)


@pytest.mark.parametrize("outer", [
    lambda: DPTunedThresholdClassifier(short(), scoring="f1"), *(
        pytest.param(each, marks=pytest.mark.thorough) for each in (
            lambda: DPGridSearchCV(short(), {"estimator__max_iter": [1, 2]}, n_iter=2),
            lambda: DPGridSearchCV(DPTunedThresholdClassifier(DPLogisticRegression(solver="gd")),
                                   {"estimator__max_iter": [1, 2]}, scoring="f1", n_iter=2),
            lambda: make_dp_pipeline(DPStandardScaler(), short()),
            lambda: DPTunedThresholdClassifier(make_dp_pipeline(DPStandardScaler(), short()))))],
    ids=["threshold", "search", "of a threshold", "pipeline", "pipeline in a threshold"])
def test_a_search_inside_of_another_estimator_is_paid_for_by_that(outer):
    X, y = rows(400)
    y[7] = 1 - y[7]
    with PrivacyBudget(5.0, 1e-3) as budget:
        found = outer().set_params(epsilon=1.0, delta=1e-5).fit(X, y)
    certificate = found.privacy_.verify()
    assert len(budget.charges) == 1 and found.classes_.tolist() == [0, 1]
    assert 0.9e-5 < certificate.delta_at(1.0) <= 1e-5


@pytest.mark.thorough
def test_folds_of_a_cross_validation_each_pay_for_their_search():
    X, y = rows()
    with PrivacyBudget(5.0, 1e-3) as budget:
        found = dp_cross_validate(short(epsilon=1.0, delta=1e-5), X, y, cv=2, delta=1e-5)
    assert len(budget.charges) == 3 and found.n_trainings == 1
    assert any(isinstance(event, BestOf) for event in tally(found.privacy_.event))


def test_a_split_by_index_may_be_given():
    X, y = rows()
    found = short(cv=ShuffleSplit(1, test_size=0.3)).fit(X, y)
    assert (found.plan_.n_train, found.plan_.n_holdout, found.n_splits_) == (210, 90, 1)
    of_groups = short(cv=ShuffleSplit(1, test_size=0.3)).fit(X, y, groups=np.arange(300) // 3)
    assert of_groups.plan_.n_holdout == 30
    pair = [(np.arange(200), np.arange(200, 300))]
    with pytest.warns(PrivacyWarning, match="handed over"):
        found = short(cv=pair).fit(X, y)
    assert any("as given" in fact for fact in found.privacy_.public)
    with PrivacyBudget(5.0, 1e-3) as budget, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        for cv, groups, match in ((StratifiedKFold(3), None, "by index alone"),
                                  (pair, np.arange(300) // 3, "could separate rows"),
                                  ([(np.arange(200), np.arange(199, 300))], None, "a row twice")):
            with pytest.raises((TypeError, ValueError), match=match):
                short(cv=cv).fit(X, y, groups=groups)
    assert not budget.charges


def _half(model, X, y):
    return 0.5


def test_noise_of_scores_under_a_seed_is_another_for_another_split():
    """By one sum of the same noise two scores would tell by how much rows differ."""
    scores = [short(n_iter=1, random_state=NoiseSeed(3), cv=ShuffleSplit(1, random_state=seed),
                    scoring=_half, score_bound=(0, 1)).fit(*rows()).best_score_
              for seed in (0, 0, None, None)]
    assert scores[0] == scores[1] and scores[2] != scores[3]


def _right(model, X, y):
    return float(model.predict(X)[0] == y[0])


@pytest.mark.parametrize("made, trusted", [
    (lambda: short(scoring=_right, score_bound=(0, 1)), "by nothing of rows before"),
    (lambda: make_dp_pipeline(FunctionTransformer(), short().estimator), "each row by itself"),
    (lambda: DPTunedThresholdClassifier(
        make_dp_pipeline(FunctionTransformer(), short().estimator)), "each row by itself")],
    ids=["scorer", "step", "step of another"])
def test_what_is_taken_on_trust_is_in_the_record_of_a_budget_too(made, trusted):
    with PrivacyBudget(30.0, 1e-3) as budget:
        model = made().fit(*rows())
    (charge,) = budget.charges
    for facts in (charge.public, model.privacy_.public):
        assert sum(trusted in fact for fact in facts) == 1


def test_settings_that_are_refused_by_their_values_may_be_left_out():
    X, y = rows()
    search = DPGridSearchCV(DPLogisticRegression(solver="gd"), {"alpha": [-1.0, 0.1, 0.2]},
                            error_score=math.nan, epsilon=20.0)
    with pytest.warns(FitFailedWarning, match="1 of 3 settings") as warned:
        found = search.fit(X, y)
    assert len(warned) == 1 and found.plan_.mean_runs == 2.0
    assert found.best_index_ in (1, 2) and len(found.cv_results_["params"]) == 3
    with pytest.raises(ValueError, match="all settings are refused"):
        search.set_params(param_grid={"alpha": [-1.0]}).fit(X, y)
    with pytest.raises(ValueError, match="error_score=nan: must be 'raise'"):
        DPRandomizedSearchCV(DPLogisticRegression(), {"alpha": [0.1]}, error_score=math.nan).fit(
            X, y)


def test_a_search_that_keeps_no_model_cannot_be_scored():
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises(ValueError, match="keeps no model"):
        DPTunedThresholdClassifier(short(refit=False), epsilon=1.0).fit(*rows())
    assert not budget.charges

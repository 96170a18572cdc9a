"""Candidates that follow from one training run: chosen under noise, and trained once."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPGridSearchCV,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPRandomizedSearchCV,
    DPRidge,
    DPStandardScaler,
    DPTableVectorizer,
    PrivacyBudget,
    make_dp_pipeline,
    privacy_report,
)
from dpsk.accounting import Gaussian
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import gaussian_mu, total_mu
from tests.model_selection.test_searches import rows

THRESHOLDS = {"threshold": [0.1, 0.5, 0.9]}
TEMPERATURES = {"temperature": [0.5, 1.0, 2.0]}
ALPHA_PATH = {"alpha": [1e-3, 0.1, 10.0]}


def ridge(**params):
    return DPRidge(**{"solver": "sufficient_statistics", "target_bounds": (0, 1),
                      "data_norm": 1.0, **params})


def one_run(estimator, post_params, **params):
    return DPGridSearchCV(estimator, {}, post_params=post_params, **{"epsilon": 2.0, **params})


SEARCHES = {
    "threshold": one_run(DPLogisticRegression(solver="gd"), THRESHOLDS),
    "temperature": one_run(DPLogisticRegression(solver="gd"), TEMPERATURES,
                           scoring="neg_log_loss"),
    "alpha": one_run(ridge(), ALPHA_PATH)}
every_search = pytest.mark.parametrize("name", SEARCHES)


@every_search
def test_all_candidates_cost_one_run(name):
    X, y = rows()
    found = clone(SEARCHES[name]).fit(X, y)
    plan, mu = found.plan_, gaussian_mu(2.0, 300**-2.0)
    # One run for sure, as nothing else is drawn: no price of a choice among runs.
    assert isinstance(found.privacy_.event, Gaussian) and plan.choices == 3
    assert found.privacy_.event.mu == pytest.approx(mu, rel=1e-9)
    assert found.privacy_.verify().delta_at(2.0) <= 300**-2.0
    held = total_mu(plan.holdout_event)
    assert 1 - 1e-6 < held / mu <= 1.0
    assert "one of its 3 candidates" in str(plan) and str(plan).startswith("one run trained")
    (value,) = found.best_params_.values()
    assert list(found.best_params_) == [name] and value in SEARCHES[name].post_params[name]
    assert found.best_estimator_.privacy_ is found.privacy_
    for reported in (found, found.best_estimator_):
        assert privacy_report(reported).epsilon == pytest.approx(2.0)
    assert getattr(found.best_estimator_, name) == value and found.n_features_in_ == 3


@every_search
def test_what_a_run_releases_is_what_it_is_charged_for(name):
    """Of rows that train, and of those that are held out, which are others."""
    X, y = rows()
    with taped() as tape:
        found = clone(SEARCHES[name]).fit(X, y)
    # The choice of a candidate and its score come last.
    for released in (tape.events[:-2], tape.events[-2:]):
        mu = math.hypot(*(total_mu(each) for events in released for each in events))
        assert 0.9 * found.privacy_.event.mu < mu <= found.privacy_.event.mu * (1 + 1e-9)


@every_search
def test_nothing_of_what_was_not_chosen_is_kept(name, monkeypatch):
    X, y = rows()
    fits, fit = [], DPLogisticRegression.fit
    monkeypatch.setattr(DPLogisticRegression, "fit",
                        lambda self, *args: fits.append(self) or fit(self, *args))
    found = clone(SEARCHES[name]).fit(X, y)
    assert {each for each in vars(found) if each.endswith("_")} == {
        "best_estimator_", "best_params_", "best_score_", "privacy_", "plan_", "scorer_",
        "best_score_standard_error_", "best_index_", "cv_results_", "n_splits_"}
    # One training, whatever the number of candidates.
    assert len(fits) == (name != "alpha")
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


@pytest.mark.parametrize("name", ["threshold", "temperature"])
def test_what_is_found_is_reported_and_fitted_again_at_its_own_price(name):
    X, y = rows()
    best = clone(SEARCHES[name]).fit(X, y).best_estimator_
    assert privacy_report(best).epsilon == pytest.approx(2.0)
    if name == "threshold":
        assert best.estimator_ is best.estimator
    before = best.predict_proba(X)
    copy = clone(best).set_params(estimator__epsilon=0.5)
    with PrivacyBudget(9.0, 1e-2) as budget:
        again = copy.fit(X, y)
    assert again is copy and len(budget.charges) == 1
    assert privacy_report(again).epsilon == pytest.approx(0.5, rel=1e-6)
    assert again.classes_.tolist() == [0, 1] and again.n_features_in_ == 3
    assert set(again.predict(X)) <= {0, 1}
    # Neither the parameter nor what was found is fitted.
    assert not hasattr(again.estimator, "coef_")
    np.testing.assert_array_equal(best.predict_proba(X), before)


def test_the_score_is_that_of_what_was_chosen():
    X, y = rows(600)
    found = one_run(DPLogisticRegression(solver="gd"), THRESHOLDS, epsilon=100.0,
                    random_state=NoiseSeed(0)).fit(X, y)
    # Enough budget that the best of the three is chosen, and that noise is small.
    assert found.best_params_ == {"threshold": 0.5}
    assert found.best_score_ == pytest.approx(found.score(X, y), abs=0.15)


def test_a_seed_repeats_what_is_chosen():
    X, y = rows()
    shown = [(found.best_params_, found.best_estimator_.coef_.tolist()) for found in (
        clone(SEARCHES["alpha"]).set_params(random_state=NoiseSeed(seed)).fit(X, y)
        for seed in (0, 0, 1))]
    assert shown[0] == shown[1] != shown[2]


@pytest.mark.parametrize("estimator, post_params, more, match", [
    (DPLogisticRegression(), [0.5], {}, "post_params=list"),
    (DPLogisticRegression(), {}, {}, "must be None"),
    (DPLogisticRegression(), {"shrinkage": [0.5]}, {}, "'threshold', 'temperature', 'alpha'"),
    (DPLogisticRegression(), {**THRESHOLDS, **TEMPERATURES}, {}, "a dict of one of"),
    (DPLogisticRegression(), {"threshold": []}, {}, "finite numbers"),
    (DPLogisticRegression(), {"threshold": 0.5}, {}, "finite numbers"),
    (DPLogisticRegression(), {"threshold": "half"}, {}, "finite numbers"),
    (DPLogisticRegression(), {"threshold": [0.5, math.inf]}, {}, "finite numbers"),
    (DPLogisticRegression(), {"threshold": [1.5]}, {}, "in \\[0, 1\\]"),
    (DPLogisticRegression(), {"threshold": [0.5]}, {"scoring": "neg_log_loss"}, "accuracy"),
    (DPLogisticRegression(), {"temperature": [0.0]}, {"scoring": "neg_log_loss"}, "0.001"),
    (DPLogisticRegression(), TEMPERATURES, {}, "changes nothing"),
    (DPLinearSVC(), TEMPERATURES, {"scoring": "neg_brier_score"}, "no probabilities"),
    (DPLogisticRegression(solver="gd"), ALPHA_PATH, {}, "follows from alpha"),
    (DPRidge(target_bounds=(0, 1)), ALPHA_PATH, {}, "follows from alpha"),
    (ridge(), {"alpha": [-1.0]}, {}, "alpha")])
def test_what_does_not_follow_from_one_run_is_refused(estimator, post_params, more, match, silent):
    with pytest.raises(ValueError, match=match):
        one_run(estimator, post_params, **more).fit(*rows())


def test_settings_that_are_drawn_are_refused_as_well(silent):
    X, y = rows()
    for settings, match in (({"alpha": [0.1]}, "leave one of the two out"),
                            ({"solver": ["gd", "sufficient_statistics"]}, "follows from alpha")):
        for search in (DPGridSearchCV(ridge(), settings, post_params=ALPHA_PATH),
                       DPRandomizedSearchCV(ridge(), settings, post_params=ALPHA_PATH)):
            with pytest.raises(ValueError, match=match):
                search.fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        clone(SEARCHES["threshold"]).fit(X, np.arange(300) % 3)


@pytest.mark.parametrize("estimator", [
    DPLogisticRegression(), DPMLPClassifier(),
    make_dp_pipeline(DPPCA(), DPLogisticRegression(solver="gd"), shares={"dppca": 0.1}),
    make_dp_pipeline(DPStandardScaler(), DPLogisticRegression(solver="gd"))],
    ids=lambda estimator: type(getattr(estimator, "steps", [[0, estimator]])[0][1]).__name__)
def test_rows_that_runs_would_refuse_are_refused_before_anything_is_charged(estimator, silent):
    X, y = rows()
    X[4, 1] = np.inf
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises(ValueError, match="infinity"):
        DPGridSearchCV(estimator, {}).fit(X, y)
    assert not budget.charges


@pytest.mark.parametrize("estimator", [
    DPAdditiveClassifier(),
    make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(solver="gd"))],
    ids=["additive", "vectorizer"])
def test_so_are_tables(estimator, silent):
    X, y = rows()
    table = pd.DataFrame(X, columns=list("abc")).astype({"a": object})
    table.loc[3, "a"] = [1.0]
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises((TypeError, ValueError), match="X"):
        DPGridSearchCV(estimator, {}).fit(table, y)
    assert not budget.charges


@pytest.mark.parametrize("estimator", [
    DPLogisticRegression(solver="sufficient_statistics"),
    make_dp_pipeline(DPStandardScaler(), DPLogisticRegression(solver="no_such"))],
    ids=["loss", "name"])
def test_so_are_solvers(estimator, silent):
    X, y = rows()
    with PrivacyBudget(5.0, 1e-3) as budget, pytest.raises(ValueError, match="solver="):
        DPGridSearchCV(estimator, {}).fit(X, y)
    assert not budget.charges

"""Searches: one certificate, the best run and nothing of the others."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsk import (
    Certificate,
    DPAdditiveClassifier,
    DPGridSearchCV,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPRandomizedSearchCV,
    DPRidge,
    DPTableVectorizer,
    PrivacyBudget,
    make_dp_pipeline,
)
from dpsk.accounting import BestOf, Disclosure, Gaussian, delta, epsilon
from dpsk.auditing import epsilon_lower_bound
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.events import disclosed, tally, total_mu
from tests.instruments import fix_runs
from tests.sklearn_checks import ids_of, run_check

ALPHAS = [1e-4, 1e-2, 1.0]


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3)) / 2
    return X, (X[:, 0] > 0).astype(int)


def grid(estimator=None, **params):
    estimator = DPLogisticRegression(solver="gd") if estimator is None else estimator
    return DPGridSearchCV(estimator, {"alpha": ALPHAS}, **{"epsilon": 2.0, **params})


def randomized(**params):
    return DPRandomizedSearchCV(DPRidge(target_bounds=(0, 1)), {"alpha": loguniform(1e-4, 1.0)},
                                **{"epsilon": 2.0, "n_iter": 3, **params})


@pytest.mark.parametrize("search", [grid(), randomized()], ids=lambda s: type(s).__name__)
def test_one_certificate_states_the_price_of_the_event(search):
    X, y = rows()
    found = search.fit(X, y)
    certificate, plan = found.privacy_.verify(), found.plan_
    (event,) = tally(certificate.event)
    assert event == BestOf(event.event, 3.0) == plan.event == search.plan(len(X)).event
    assert (certificate.epsilon, certificate.delta) == (2.0, len(X) ** -2.0)
    assert 0.999 * certificate.delta < certificate.delta_at(2.0) <= certificate.delta
    assert Certificate.from_json(certificate.to_json()) == certificate
    # What was trained is within what a run may cost, and is used up.
    assert found.best_estimator_.privacy_ is certificate
    own = clone(found.best_estimator_).fit(X, y).privacy_
    assert total_mu(own.event) == pytest.approx(event.event.mu, rel=1e-6)
    assert total_mu(own.event) <= event.event.mu
    assert plan.score_noise == pytest.approx(1 / (60 * event.event.mu), rel=1e-12)
    assert "best_score_" in certificate.released and "geometric" in str(plan)


def test_what_is_said_does_not_tell_how_many_runs_there_were(monkeypatch, capsys):
    X, y = rows()
    said = []
    for count in (1, 9):
        fix_runs(monkeypatch, count)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            grid(DPLogisticRegression(solver="gd", verbose=1), verbose=1, delta=0.01).fit(X, y)
        said.append((capsys.readouterr(), [str(each.message) for each in warned]))
    assert said[0] == said[1]
    assert "geometric" in said[0][0].out and len(said[0][1]) == 1


def test_warnings_of_settings_do_not_count_the_runs(monkeypatch):
    class Loud(DPLogisticRegression):
        def _check_params(self):
            warnings.warn("loud", UserWarning, stacklevel=2)
            super()._check_params()

    X, y = rows()
    said = []
    for count in (1, 9):
        fix_runs(monkeypatch, count)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            grid(Loud(solver="gd")).fit(X, y)
        said.append(len(warned))
    assert said[0] == said[1] > 0


def test_runs_of_a_pipeline_may_show_a_category():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=400), "town": rng.choice(["a", "b"], size=400)})
    model = make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(solver="gd"))
    search = DPGridSearchCV(model, {"dptablevectorizer__n_knots": [3, 5]}, epsilon=4.0)
    found = search.fit(X, X["age"] > 0)
    (run,) = tally(found.privacy_.event)
    assert {type(event) for event in tally(run.event)} == {Gaussian, Disclosure}
    assert found.privacy_.delta_at(4.0) <= found.privacy_.delta
    assert found.predict(X).shape == (400,) and found.classes_.tolist() == [False, True]
    assert list(found.feature_names_in_) == ["age", "town"]


def test_runs_that_leave_their_chance_unused_are_within_their_price():
    """Columns of numbers alone have no category to show, and more is left for noise."""
    X, y = rows(600)
    search = DPGridSearchCV(DPAdditiveClassifier(), {"n_knots": [3]}, epsilon=2.0).fit(X, y)
    own = clone(search.best_estimator_).fit(X, y).privacy_
    assert disclosed(own.event) == 0.0
    assert search.plan_.covers(own.event) and search.privacy_.delta_at(2.0) <= 600**-2.0


@pytest.mark.parametrize("model, settings", [
    (DPMLPClassifier(hidden_layer_sizes=(4,)), {"max_iter": [3, 5]}),
    (DPLogisticRegression(solver="sgd"), {"batch_size": [10, 100]}),
    (DPLogisticRegression(solver="svrg"), {"alpha": ALPHAS}),
    (DPLogisticRegression(), {"alpha": ALPHAS})], ids=str)
def test_runs_of_another_kind_are_covered_by_a_gaussian(model, settings):
    X, y = rows()
    search = DPGridSearchCV(model, settings, epsilon=3.0, n_iter=3).fit(X, y)
    (run,) = tally(search.privacy_.event)
    assert {type(event) for event in tally(run.event)} == {Gaussian, Disclosure}
    assert search.privacy_.delta_at(3.0) <= search.privacy_.delta
    # Nearly all of the mu is for the training.
    own = clone(search.best_estimator_).fit(X, y).privacy_
    mu = total_mu(run.event)
    assert own.delta_at(mu) <= delta(Gaussian(mu), mu) + disclosed(run.event)
    assert epsilon(Gaussian(0.99 * mu), own.delta) <= search.plan_.run_epsilon


@pytest.mark.thorough
def test_a_run_that_is_not_like_a_gaussian_gets_less():
    X, y = rows()
    found = grid(DPLogisticRegression(solver="objective_perturbation")).fit(X, y)
    own = clone(found.best_estimator_).fit(X, y).privacy_
    assert found.plan_.covers(own.event)
    assert found.plan_.run_epsilon < 0.7 * found.plan_.with_less(0.995).run_epsilon


@pytest.mark.covering
@pytest.mark.parametrize("model, settings", [
    (DPLogisticRegression(solver="gd"), {"alpha": np.geomspace(1e-5, 1, 6)}),
    (DPLogisticRegression(), {"alpha": np.geomspace(1e-5, 1, 6)}),
    (DPLogisticRegression(solver="sgd"), {"alpha": np.geomspace(1e-5, 1, 6)}),
    (DPLogisticRegression(solver="svrg"), {"alpha": np.geomspace(1e-5, 1, 6)}),
    (DPLinearSVC(solver="sgd"), {"alpha": np.geomspace(1e-5, 1, 6)}),
    (DPMLPClassifier(hidden_layer_sizes=(3,)), {"max_iter": [1, 2, 3, 4, 5, 6]}),
    (DPAdditiveClassifier(), {"n_knots": [2, 3, 5, 9, 17, 33]})], ids=str)
@pytest.mark.parametrize("n", [500, pytest.param(1500, marks=pytest.mark.thorough)])
def test_a_budget_holds_searches_of_six_candidates_of_any_kind(model, settings, n):
    X, y = rows(n)
    budget = PrivacyBudget(3.0, 1e-6)
    with budget:
        for _ in range(2):
            found = DPGridSearchCV(model, settings, epsilon=1.0).fit(X, y)
    mu = total_mu(found.plan_.run_event)
    # Six composed would be charged 6 mu^2, and 3.364 mu^2 is what no accountant is below.
    assert 3.36 * mu**2 <= budget.spent["mu^2"] / 2 <= 3.39 * mu**2
    assert budget.spent["delta"] <= 2 * budget.limits["delta"] / 12


def test_what_the_best_can_do_the_search_can():
    X, y = rows()
    found = grid().fit(X, y)
    best = found.best_estimator_
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(found, method)(X), getattr(best, method)(X))
    # One minus the share of errors is the share of hits up to its last digit.
    assert found.score(X, y) == pytest.approx(best.score(X, y), abs=1e-15)
    assert found.n_features_in_ == 3
    assert not hasattr(grid(DPLinearSVC(solver="gd")), "predict_proba")
    assert not hasattr(grid(), "classes_") and not hasattr(grid(), "cv_results_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(X), found.predict(X))
    assert json.loads(found.privacy_.to_json())["estimator"] == "DPGridSearchCV"


@pytest.mark.parametrize("scoring", ["accuracy", "neg_brier_score", "neg_log_loss"])
def test_scores_of_classes(scoring):
    X, y = rows(600)
    found = grid(scoring=scoring, epsilon=100.0).fit(X, np.array(["no", "yes"])[y])
    # Enough budget that noise is small beside what the split does.
    assert found.best_score_ == pytest.approx(found.score(X, np.array(["no", "yes"])[y]), abs=0.2)
    assert found.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_mean_absolute_error"])
def test_scores_of_numbers(scoring):
    X, y = rows(600)
    found = randomized(scoring=scoring, epsilon=100.0).fit(X, y)
    assert found.best_score_ == pytest.approx(found.score(X, y), abs=0.1)
    assert found.scorer_.bound == 1.0


@pytest.mark.parametrize("search", [grid(), randomized()], ids=lambda s: type(s).__name__)
def test_results_are_unknown_but_for_the_best(search):
    X, y = rows()
    found = clone(search).fit(X, y)
    results, place = found.cv_results_, found.best_index_
    assert results["params"][place] == found.best_params_ and found.n_splits_ == 1
    for name, value in (("mean_test_score", found.best_score_), ("rank_test_score", 1),
                        ("std_test_score", found.best_score_standard_error_)):
        np.testing.assert_equal(results[name][place], float(value))
        assert np.isnan(np.delete(results[name], place)).all()
    assert found.best_score_standard_error_ == found.scorer_.bound * found.plan_.score_noise


def test_a_score_below_its_noise_is_no_number():
    X, y = rows(40)
    with pytest.warns(PrivacyWarning, match="best_score_ is NaN"):
        found = grid(scoring="neg_brier_score", epsilon=0.05).fit(X, y)
    assert np.isnan(found.best_score_) and found.best_score_standard_error_ > 0.25
    older = found.privacy_
    with warnings.catch_warnings(), pytest.raises(PrivacyWarning):
        warnings.simplefilter("error")
        found.fit(X, y)
    # What was paid for is there, and speaks for itself alone.
    assert found.privacy_ is not older and found.best_estimator_.privacy_ == found.privacy_
    assert np.isnan(found.best_score_) and len(found.predict(X)) == 40


def test_labels_that_the_training_part_lacks_are_still_classes():
    X, y = rows(100)
    y[:] = 0
    y[7], y[8] = 1, 2
    for seed in range(5):
        found = grid(random_state=seed).fit(X, y)
        assert found.classes_.tolist() == [0, 1, 2]
        assert "the set of 3 class labels (taken from y)" in found.privacy_.public
    declared = grid(DPLogisticRegression(solver="gd", classes=[0, 1, 2])).fit(X, y)
    assert "the set of 3 class labels (declared)" in declared.privacy_.public


def test_a_seed_repeats_a_search_and_an_int_the_split_alone():
    X, y = rows()

    def scores(random_state, X=X):
        found = grid(random_state=random_state).fit(X, y)
        assert found.privacy_.reproducible == isinstance(random_state, NoiseSeed)
        # Scores are cut to their range, where two of them may be the same.
        return found.best_estimator_.coef_.tolist(), found.best_score_, found.best_params_["alpha"]

    assert scores(NoiseSeed(0)) == scores(NoiseSeed(0)) == scores(NoiseSeed(0), X.tolist())
    assert scores(NoiseSeed(0))[0] != scores(NoiseSeed(0), X + 1e-9)[0]
    assert scores(0)[0] != scores(0)[0]


def test_a_weak_delta_is_warned_of_once():
    X, y = rows()
    with pytest.warns(PrivacyWarning, match="weak") as warned:
        grid(delta=0.1).fit(X, y)
    assert len(warned) == 1


def every_check(*searches):
    """Try all of scikit-learn's checks, which its oldest version gives as an iterator."""
    checks = parametrize_with_checks(list(searches))
    return pytest.mark.parametrize(checks.args[0], list(checks.args[1]), ids=ids_of(checks))


@pytest.mark.covering
@every_check(grid(epsilon=8.0, n_iter=1, random_state=NoiseSeed(0)))
def test_scikit_learn_finds_nothing_wrong(estimator, check, monkeypatch):
    if "weight_equivalence" in check.func.__name__:
        pytest.skip("rows of weight 0 are in one of the parts all the same")
    run_check(estimator, check, monkeypatch)


@pytest.mark.audit
@every_check(
    # The text of a distribution has its address, which names of tests must not.
    randomized(random_state=NoiseSeed(0), epsilon=8.0).set_params(
        param_distributions={"alpha": [0.0, 0.1]}),
    grid(DPRidge(target_bounds=(0, 1)), random_state=NoiseSeed(0)))
def test_scikit_learn_finds_nothing_wrong_elsewhere(estimator, check, monkeypatch):
    if check.func.__name__ == "check_regressor_data_not_an_array":
        pytest.skip("noise that repeats has another key in a frame than in an array")
    if "weight_equivalence" in check.func.__name__:
        pytest.skip("rows of weight 0 are in one of the parts all the same")
    run_check(estimator, check, monkeypatch)


@pytest.mark.audit
def test_what_searches_show_is_within_their_budget():
    """The best score of tables that differ in a row; a false alarm in 1 of 1000 audits."""
    X = np.zeros((10, 1))
    tables = [np.tile([0, 1], 5), np.append(np.tile([0, 1], 4), [0, 0])]
    search = DPGridSearchCV(DPLogisticRegression(solver="gd", max_iter=1, classes=[0, 1]),
                            {"alpha": [0.0, 0.1]}, epsilon=1.0, delta=1e-3, n_iter=5,
                            test_size=0.5)
    runs = 3000
    shown = np.array([[_shown(search.fit(X, y)) for _ in range(runs)] for y in tables])
    for column in range(shown.shape[2]):
        values = shown[:, :, column]
        # The event is chosen by the first half of runs, and counted in the second.
        first, second = values[:, :runs // 2], values[:, runs // 2:]
        ends = np.quantile(first, np.linspace(0.02, 0.98, 49))
        gaps = (first[0][:, None] > ends).mean(0) - (first[1][:, None] > ends).mean(0)
        end = ends[np.argmax(np.abs(gaps))]
        hits = [int((each > end).sum()) for each in second]
        for one, other in (hits, hits[::-1]):
            bound = epsilon_lower_bound(one, runs // 2, other, runs // 2, delta=1e-3,
                                        level=1e-4)
            assert bound <= 1.0


def _shown(search):
    return search.best_score_, float(search.best_estimator_.intercept_[0])

"""Thresholds that are chosen privately: what a row moves, the law of the choice, one price."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score

from dpsk import (
    DPGridSearchCV,
    DPLinearSVC,
    DPLogisticRegression,
    DPMLPClassifier,
    DPRidge,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
    PrivacyBudget,
    make_dp_pipeline,
    privacy_report,
)
from dpsk.accounting import Disclosure, Gaussian
from dpsk.auditing import epsilon_lower_bound
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.events import tally, total_mu
from tests.model_selection.test_searches import every_check, rows
from tests.sklearn_checks import run_check


def tuned(estimator=None, **params):
    estimator = DPLogisticRegression(solver="gd") if estimator is None else estimator
    return DPTunedThresholdClassifier(estimator, **{"epsilon": 2.0, **params})


def test_what_is_kept_is_what_was_released():
    X, y = rows()
    found = tuned().fit(X, np.array(["no", "yes"])[y])
    assert {name for name in vars(found) if name.endswith("_")} == {
        "estimator_", "privacy_", "plan_", "best_threshold_", "best_score_",
        "best_score_standard_error_"}
    assert found.classes_.tolist() == ["no", "yes"] and found.n_features_in_ == 3
    reached = found.predict_proba(X)[:, 1] >= found.best_threshold_
    np.testing.assert_array_equal(found.predict(X) == "yes", reached)
    assert found.score(X, np.array(["no", "yes"])[y]) == pytest.approx((reached == y).mean())
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert privacy_report(found).epsilon == pytest.approx(2.0)


def test_a_seed_repeats_all_of_it():
    X, y = rows()
    shown = [(found.best_threshold_, found.best_score_) for found in (
        tuned(random_state=seed).fit(X, y) for seed in (NoiseSeed(0), NoiseSeed(0), NoiseSeed(1)))]
    assert shown[0] == shown[1] != shown[2]


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1"])
def test_scores_are_within_their_range_or_no_numbers(scoring):
    """Of 40 rows and little budget noise is larger than any score, of many it is told."""
    X, y = rows(40)
    with pytest.warns(PrivacyWarning, match="best_score_ is NaN"):
        found = tuned(scoring=scoring, epsilon=0.01).fit(X, y)
    assert np.isnan(found.best_score_) and found.best_score_standard_error_ > 1.0
    X, y = rows(2000)
    found = tuned(scoring=scoring, epsilon=8.0).fit(X, y)
    assert 0.0 < found.best_score_standard_error_ < 0.1 and 0.0 <= found.best_score_ <= 1.0


def test_a_rare_class_is_found_again():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 3)) / 2
    y = X[:, 0] + 0.2 * rng.normal(size=6000) > 0.45
    found = tuned(epsilon=8.0, thresholds=np.linspace(0.0, 1.0, 21)).fit(X, y)
    own = balanced_accuracy_score(y, found.predict(X))
    assert own > balanced_accuracy_score(y, found.estimator_.predict(X)) + 0.1
    # Six deviations of what 140 held-out cases tell.
    assert found.best_score_ == pytest.approx(own, abs=0.1)


def test_models_of_other_kinds():
    X, y = rows()
    network = tuned(DPMLPClassifier(hidden_layer_sizes=(4,), max_iter=3)).fit(X, y)
    assert {type(event) for event in tally(network.privacy_.event)} == {Gaussian, Disclosure}
    assert network.privacy_.delta_at(2.0) <= network.privacy_.delta
    scores = tuned(DPLinearSVC(solver="gd"), thresholds=[0.5, -0.5, 0.0]).fit(X, y)
    assert scores.best_threshold_ in (-0.5, 0.0, 0.5) and not hasattr(scores, "predict_proba")
    np.testing.assert_array_equal(scores.predict(X),
                                  scores.decision_function(X) >= scores.best_threshold_)
    table = pd.DataFrame({"age": X[:, 0], "town": np.where(y, "a", "b")})
    pipeline = tuned(make_dp_pipeline(DPTableVectorizer(), DPLogisticRegression(solver="gd")))
    (disclosed,) = [event for event in tally(pipeline.fit(table, y).privacy_.event)
                    if not isinstance(event, Gaussian)]
    assert isinstance(disclosed, Disclosure) and pipeline.predict(table).shape == (300,)
    single = tuned(thresholds=[0.3], scoring="accuracy").fit(X, y)
    assert single.best_threshold_ == 0.3 and tally(single.plan_.holdout_event).keys() == {
        Gaussian(single.plan_.score_mu)}


def test_a_budget_is_charged_once():
    X, y = rows()
    with PrivacyBudget(5.0, 1e-3) as budget:
        found = tuned().fit(X, y)
    assert budget.spent["mu^2"] == pytest.approx(total_mu(found.privacy_.event) ** 2)


@pytest.mark.parametrize("params, match", [
    ({"scoring": "roc_auc"}, "scoring"), ({"thresholds": 1}, "thresholds"),
    ({"thresholds": []}, "thresholds"), ({"thresholds": [np.nan]}, "thresholds"),
    ({"thresholds": "many"}, "thresholds"), ({"response_method": "predict"}, "response_method"),
    ({"epsilon": np.inf}, "epsilon"), ({"delta": 0}, "delta"), ({"test_size": 1.0}, "test_size"),
    ({"random_state": 0.5}, "random_state"), ({"estimator": DPRidge()}, "not a classifier"),
    ({"estimator": DPLinearSVC()}, "no known range"), ({"estimator": 3}, "privacy cost"),
    ({"estimator": DPLinearSVC(), "response_method": "predict_proba"}, "response_method"),
    ({"estimator": DPLogisticRegression(alpha=-1.0)}, "alpha"),
    ({"estimator": DPLogisticRegression(random_state=NoiseSeed(0))}, "independent")],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "")
def test_what_cannot_be_done_is_refused_before_anything_is_drawn(params, match, silent):
    X, y = rows()
    with pytest.raises(ValueError, match=match):
        tuned().set_params(**params).fit(X, y)


def test_labels_and_rows_are_refused_before_anything_is_charged(silent):
    X, y = rows()
    odd = X.copy()
    odd[7, 1] = np.nan
    with PrivacyBudget(5.0, 1e-3) as budget:
        with pytest.raises(ValueError, match="binary"):
            tuned().fit(X, np.arange(300) % 3)
        with pytest.raises(ValueError, match="NaN"):
            tuned().fit(odd, y)
    assert not budget.charges


@pytest.mark.audit
@every_check(tuned(DPLogisticRegression(solver="gd", data_norm=10.0), epsilon=500.0,
                   thresholds=[0.5], random_state=NoiseSeed(0)))
def test_scikit_learn_finds_nothing_wrong(estimator, check, monkeypatch):
    """With one threshold: of several the one that is chosen need not be that of `predict_proba`.
    """
    if "weight_equivalence" in check.func.__name__:
        pytest.skip("rows of weight 0 are in one of the parts all the same")
    run_check(estimator, check, monkeypatch)


@pytest.mark.audit
@pytest.mark.parametrize("model", [
    tuned(DPLogisticRegression(solver="gd", max_iter=1, classes=[0, 1], data_norm=1.0),
          thresholds=[0.48, 0.5, 0.52], scoring="balanced_accuracy"),
    DPGridSearchCV(DPLogisticRegression(solver="gd", max_iter=1, classes=[0, 1], data_norm=1.0),
                   {}, post_params={"threshold": [0.48, 0.5, 0.52]})],
    ids=lambda model: type(model).__name__)
def test_what_is_shown_is_within_its_budget(model):
    """Tables that differ in a row that is held out or trained on, as it comes: the chosen
    threshold and the score; a false alarm in 1 of 1000 audits.
    """
    X = np.zeros((10, 1))
    tables = [np.tile([0, 1], 5), np.append(np.tile([0, 1], 4), [0, 0])]
    model = clone(model).set_params(epsilon=1.0, delta=1e-3, test_size=0.5)
    runs = 3000
    shown = np.array([[_shown(model.fit(X, y)) for _ in range(runs)] for y in tables])
    for column in range(shown.shape[2]):
        first, second = shown[:, :runs // 2, column], shown[:, runs // 2:, column]
        ends = np.quantile(first, np.linspace(0.02, 0.98, 49))
        gaps = (first[0][:, None] > ends).mean(0) - (first[1][:, None] > ends).mean(0)
        end = ends[np.argmax(np.abs(gaps))]
        hits = [int((each > end).sum()) for each in second]
        for one, other in (hits, hits[::-1]):
            assert epsilon_lower_bound(one, runs // 2, other, runs // 2, delta=1e-3,
                                       level=1e-4) <= 1.0


def _shown(model):
    chosen = getattr(model, "best_threshold_", None)
    if chosen is None:
        chosen = model.best_params_["threshold"]
    return chosen, model.best_score_

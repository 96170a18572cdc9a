"""Thresholds that are chosen privately: what a row moves, the law of the choice, one price."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

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
from dpsk._mechanism.session import Session
from dpsk._privacy import accountant
from dpsk._privacy.closed_forms import bounded_range_epsilon, gaussian_delta, gaussian_mu
from dpsk._privacy.events import Disclosure, Gaussian, Pure, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk.auditing import epsilon_lower_bound
from dpsk.model_selection import _threshold
from dpsk.model_selection._confusion import THRESHOLD_SCORES, ThresholdScore, confusion
from dpsk.model_selection._plan import search_plan
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.model_selection.test_searches import every_check, rows
from tests.sklearn_checks import run_check

GRID = np.array([0.2, 0.4, 0.6, 0.8])
#: Every row that the grid tells apart, and one whose score is no number.
ROWS = list(itertools.product([0.1, 0.4, 0.9, np.nan], [False, True]))


def tuned(estimator=None, **params):
    estimator = DPLogisticRegression(solver="gd") if estimator is None else estimator
    return DPTunedThresholdClassifier(estimator, **{"epsilon": 2.0, **params})


def every_pair(score, size=3):
    """Yield the scores of thresholds for all tables of so many rows, and for all neighbors."""
    found = {}
    for table in itertools.combinations_with_replacement(range(len(ROWS)), size):
        scores, positive = map(np.array, zip(*map(ROWS.__getitem__, table), strict=True))
        found[table] = score.values(scores, positive, GRID)
    for rest in itertools.combinations_with_replacement(range(len(ROWS)), size - 1):
        for pair in itertools.permutations(range(len(ROWS)), 2):
            yield tuple(found[tuple(sorted((*rest, one)))] for one in pair)


def every_score(n_samples):
    return [ThresholdScore("accuracy", n_samples),
            *(ThresholdScore(name, n_samples, count) for name in THRESHOLD_SCORES[1:]
              for count in (0.5, 1.3, n_samples - 0.5))]


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(10, size=60) / 10, rng.random(60) < 0.3
    count = positive.sum()
    exact = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score,
             "f1": f1_score}
    for name, metric in exact.items():
        found = ThresholdScore(name, 60, count).values(scores, positive, GRID)
        assert found == pytest.approx([metric(positive, scores >= each) for each in GRID])
    found = confusion(np.array([np.nan, np.inf, -np.inf]), np.array([True, True, False]), GRID)
    np.testing.assert_array_equal(found, [[1.0] * 4, [0.0] * 4])


@pytest.mark.parametrize("score", every_score(3), ids=lambda score: (
    f"{score.name}-{score.n_positive}"))
def test_a_row_moves_scores_and_their_differences_by_no_more_than_is_priced(score):
    """All tables of three rows, and all of their neighbors."""
    most = widest = 0.0
    for one, other in every_pair(score):
        difference = one - other
        most = max(most, np.abs(difference).max())
        widest = max(widest, np.ptp(difference))
    assert most <= score.moved * (1 + 1e-12) and widest <= score.width * (1 + 1e-12)
    # Nothing smaller would do.
    assert most == pytest.approx(score.moved) and widest == pytest.approx(score.width)


@pytest.mark.parametrize("count", [1e-3, 0.5, 1.3, 2.5, 40.0])
def test_a_row_moves_all_f1_in_one_direction(count):
    for one, other in every_pair(ThresholdScore("f1", 3, count)):
        assert (one >= other).all() or (one <= other).all()


@pytest.mark.parametrize("score", every_score(3), ids=lambda score: (
    f"{score.name}-{score.n_positive}"))
def test_the_law_of_the_choice_is_within_its_price(score):
    """Enumerated exactly: the softmax of scores over the scale of the Gumbel noise."""
    mu = 0.8
    width = bounded_range_epsilon(mu)
    scale = 4.0 / width * score.width / 4.0
    for pair in every_pair(score):
        p, q = (law / law.sum() for law in map(np.exp, (each / scale for each in pair)))
        assert np.log(p / q).max() <= width * (1 + 1e-12)
        for epsilon in (0.0, 0.2, 0.5, 1.0):
            delta = np.maximum(p - np.exp(epsilon) * q, 0.0).sum()
            assert delta <= gaussian_delta(mu, epsilon) + 1e-12


@pytest.mark.parametrize("scoring", THRESHOLD_SCORES)
def test_what_is_drawn_is_that_law_and_the_declared_noise(scoring, monkeypatch):
    """1500 draws: chi-square of 3 degrees, and six deviations; a false alarm in 1e-7 or less."""
    plan = search_plan(1.0, 1e-3, 1.0, 5, 5, gaussian=True, disclosed=0.0, choices=4,
                       counts=scoring != "accuracy")
    scores = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    positive = np.array([False, True, False, True, True])
    counts = []

    def remembered(*args):
        counts.append(args[2])
        return ThresholdScore(*args[:2], None if args[2] is None else 2.0)

    # The count is another draw: the law is that of one.
    monkeypatch.setattr(_threshold, "ThresholdScore", remembered)
    found = np.array([_threshold._choose(
        Session(EntropyStream(), Ledger(plan.holdout_event)), plan, scoring, scores, positive,
        GRID) for _ in range(1500)])
    score = remembered(scoring, 5, counts[0])
    exact = score.values(scores, positive, GRID)
    width = bounded_range_epsilon(plan.choice.mu)
    law = np.exp((exact - exact.max()) * width / score.width)
    expected = 1500 * law / law.sum()
    drawn = np.array([(found[:, 0] == each).sum() for each in GRID])
    assert ((drawn - expected) ** 2 / expected).sum() < 40.2
    noise = found[:, 1] - exact[np.searchsorted(GRID, found[:, 0])]
    assert noise.std() == pytest.approx(score.moved / plan.score_mu, rel=6 / np.sqrt(3000))
    if plan.count_mu:
        inside = np.array(counts[:-1])
        assert inside.min() >= 0.5 and inside.max() <= 4.5


@pytest.mark.parametrize("scoring", THRESHOLD_SCORES)
def test_what_is_asked_of_held_out_rows_says_how_far_a_row_moves_it(scoring):
    """By formulas of its own: a count by 1, what a row weighs, and what two rows weigh apart."""
    with taped() as tape:
        found = tuned(scoring=scoring, random_state=0).fit(*rows())
    n = found.plan_.n_holdout
    *counts, choice, shown = (noise.sensitivity for (noise,) in tape.parts[-len(
        tally(found.plan_.holdout_event)):])
    if scoring == "accuracy":
        assert not counts and (choice.moved, shown.moved) == (2.0 / n, 1.0 / n)
        return
    (count,) = counts
    of_class = float(np.clip(np.ravel(tape.answers[-3])[0], 0.5, n - 0.5))
    weights = 0.5 / of_class, 0.5 / (n - of_class)
    f1 = 2.0 / (of_class + 1.0)
    assert count.moved == 1.0
    assert choice.moved == pytest.approx(f1 if scoring == "f1" else sum(weights))
    assert shown.moved == pytest.approx(f1 if scoring == "f1" else max(weights))


@pytest.mark.parametrize("scoring", THRESHOLD_SCORES)
def test_the_total_is_the_dearer_of_training_and_choice(scoring):
    X, y = rows()
    found = tuned(scoring=scoring, random_state=0).fit(X, y)
    mu = gaussian_mu(2.0, 300**-2.0)
    certificate, plan = found.privacy_.verify(), found.plan_
    assert plan.event == certificate.event == found.plan_.event and plan == found.plan(300)
    assert accountant.merge(certificate.event).mu == pytest.approx(mu, rel=1e-9)
    assert certificate.delta_at(2.0) <= certificate.delta == 300**-2.0
    # Each of the two uses all of it, and no more.
    trained = clone(found.estimator_).fit(X, y).privacy_.event
    for part in (trained, plan.holdout_event):
        assert 1 - 1e-6 < accountant.merge(part).mu / accountant.merge(plan.event).mu <= 1.0
    assert len(tally(plan.holdout_event)) == (2 if scoring == "accuracy" else 3)
    assert found.estimator_.privacy_ is certificate
    assert "best_threshold_" in certificate.released


def test_what_is_kept_is_what_was_released():
    X, y = rows()
    found = tuned().fit(X, np.array(["no", "yes"])[y])
    assert {name for name in vars(found) if name.endswith("_")} == {
        "estimator_", "privacy_", "plan_", "best_threshold_", "best_score_"}
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


def test_a_rare_class_is_found_again():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 3)) / 2
    y = X[:, 0] + 0.2 * rng.normal(size=6000) > 0.45
    found = tuned(epsilon=8.0, thresholds=np.linspace(0.0, 1.0, 21)).fit(X, y)
    own = balanced_accuracy_score(y, found.predict(X))
    assert own > balanced_accuracy_score(y, found.estimator_.predict(X)) + 0.1
    assert found.best_score_ == pytest.approx(own, abs=0.06)


def test_models_of_other_kinds():
    X, y = rows()
    network = tuned(DPMLPClassifier(hidden_layer_sizes=(4,), max_iter=3)).fit(X, y)
    assert {type(event) for event in tally(network.privacy_.event)} == {Pure, Disclosure}
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
    assert budget.spent["mu^2"] == pytest.approx(accountant.merge(found.privacy_.event).mu ** 2)


@pytest.mark.parametrize("params, match", [
    ({"scoring": "roc_auc"}, "scoring"), ({"thresholds": 1}, "thresholds"),
    ({"thresholds": []}, "thresholds"), ({"thresholds": [np.nan]}, "thresholds"),
    ({"thresholds": "many"}, "thresholds"), ({"response_method": "predict"}, "response_method"),
    ({"epsilon": np.inf}, "epsilon"), ({"delta": 0}, "delta"), ({"test_size": 1.0}, "test_size"),
    ({"random_state": 0.5}, "random_state"), ({"estimator": DPRidge()}, "not a classifier"),
    ({"estimator": DPLinearSVC()}, "no known range"), ({"estimator": 3}, "price"),
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
@every_check(tuned(DPLogisticRegression(solver="gd", data_norm=10.0), epsilon=50.0,
                   thresholds=[0.5], random_state=NoiseSeed(0)))
def test_scikit_learn_finds_nothing_wrong(estimator, check, monkeypatch):
    """With one threshold: of several the one that is chosen need not be that of `predict_proba`.
    """
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

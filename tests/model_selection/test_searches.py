"""Searches: one certificate, the best run and nothing of the others."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
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
    make_dp_pipeline,
)
from dpsk._mechanism import session as release
from dpsk._privacy import accountant
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.events import Composed, Disclosure, Gaussian, Pure, tally
from dpsk._privacy.noise.streams import KeyedStream
from dpsk.auditing import epsilon_lower_bound
from dpsk.exceptions import PrivacyWarning
from dpsk.model_selection import _search
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._scoring import SCORERS, Scorer
from dpsk.model_selection._split import split_rows
from dpsk.testing import NoiseSeed
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


@pytest.fixture
def several_runs(monkeypatch):
    """Make seven runs in every search; return what they had: (params, noisy score) each."""
    seen, run = [], _search._run

    def recorded(model, *args):
        found = run(model, *args)
        seen.append((model.alpha, found[0]))
        return found

    monkeypatch.setattr(release.streams, "geometric", lambda *args: 7)
    monkeypatch.setattr(_search, "_run", recorded)
    return seen


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
    assert accountant.merge(own.event).mu == pytest.approx(event.event.mu, rel=1e-6)
    assert accountant.merge(own.event).mu <= event.event.mu
    assert plan.score_noise == pytest.approx(1 / (60 * event.event.mu), rel=1e-12)
    assert "best_score_" in certificate.released and "geometric" in str(plan)


def test_the_best_of_all_runs_is_kept_and_nothing_of_others(several_runs):
    X, y = rows()
    found = grid().fit(X, y)
    alpha, score = max(several_runs, key=lambda run: run[1])
    assert len(several_runs) == 7
    assert found.best_params_ == {"alpha": alpha} and found.best_estimator_.alpha == alpha
    assert found.best_score_ == pytest.approx(0.5 + score)
    fitted = {name for name in vars(found) if name.endswith("_")}
    assert fitted == {"best_estimator_", "best_params_", "best_score_", "privacy_", "plan_",
                      "scorer_"}
    # Neither the scores of the others nor how many there were.
    kept = pickle.dumps(found)
    assert not any(np.float64(other).tobytes() in kept for _, other in several_runs)
    assert "7" not in str(found.plan_).split(" on average")[0]


def test_of_runs_that_score_alike_any_may_be_kept(several_runs, monkeypatch):
    X, y = rows(60)
    kept, made, recorded = set(), [], _search._run

    def alike(model, *args):
        made.append(recorded(model, *args)[1])
        return 0.0, made[-1], 0

    monkeypatch.setattr(_search, "_run", alike)
    # The same one of seven every time: by chance once in 7**9 tests.
    for _ in range(10):
        made.clear()
        best = grid(DPLogisticRegression(solver="gd", max_iter=1)).fit(X, y).best_estimator_
        kept.add(next(place for place, model in enumerate(made) if model is best))
    assert len(kept) > 1


def test_what_is_said_does_not_tell_how_many_runs_there_were(monkeypatch, capsys):
    X, y = rows()
    said = []
    for count in (1, 9):
        monkeypatch.setattr(release.streams, "geometric", lambda *args, count=count: count)
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
        monkeypatch.setattr(release.streams, "geometric", lambda *args, count=count: count)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            grid(Loud(solver="gd")).fit(X, y)
        said.append(len(warned))
    assert said[0] == said[1] > 0


@pytest.mark.parametrize("name", SCORERS)
def test_a_row_moves_a_score_by_its_share_at_most(name):
    """Whatever is predicted of it: hostile predictions and targets, no number among them."""
    rng = np.random.default_rng(0)
    odd = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -0.0, 2.0])
    classes = np.arange(2)

    class Hostile:
        classes_ = classes

        def predict(self, X):
            return X[:, 0] if "error" in name else X[:, 0] > 0

        def predict_proba(self, X):
            return X

    scorer = Scorer(name, 1.0)
    for _ in range(200):
        X = rng.choice(odd, size=(20, 2))
        y = rng.integers(2, size=20) if "error" not in name else rng.choice(odd, size=20)
        other, other_y = X.copy(), y.copy()
        other[3], other_y[3] = rng.choice(odd, size=2), 1 - y[3]
        losses, moved = (scorer.losses(Hostile(), *each) for each in ((X, y), (other, other_y)))
        assert ((losses >= 0) & (losses <= 1)).all() and losses.shape == (20,)
        assert abs(losses.mean() - moved.mean()) <= 1 / 20 + 1e-15


def test_noise_on_the_score_is_what_the_plan_says(several_runs):
    """Five and a half deviations of 168 scores; a false alarm in 1e-7 of the runs."""
    X, _ = rows(40)
    search = grid(DPLogisticRegression(solver="gd", max_iter=1), epsilon=0.5)
    for _ in range(24):
        search.fit(X, np.arange(40) % 2)
    scores = np.array([score for _, score in several_runs])
    # The exact scores vary as well, by at most 1/2 about their mean.
    assert scores.std() > search.plan_.score_noise * (1 - 5.5 / np.sqrt(2 * len(scores)))
    assert scores.std() < (search.plan_.score_noise + 0.5) * (1 + 5.5 / np.sqrt(2 * len(scores)))


def test_rows_are_split_by_their_index_alone():
    train, held = split_rows(100, 20, 5)
    assert sorted([*train, *held]) == list(range(100)) and len(held) == 20
    again, other = split_rows(100, 20, 5)[0], split_rows(100, 20, None)[0]
    assert (train == again).all() and (train != other).any()


@pytest.mark.parametrize("search", [
    DPGridSearchCV(DPRidge(), {"alpha": [0.0, 0.1, 0.2, 0.3]}),
    DPRandomizedSearchCV(DPRidge(), {"alpha": loguniform(1e-3, 1.0)})])
def test_a_setting_follows_from_secret_draws_alone(search):
    """In an order of their own the best one would tell how many runs there were before it."""
    def drawn(key):
        return search._drawn(release.Session(KeyedStream(b"%016d" % key), None))

    assert all(drawn(key) == drawn(key) for key in range(9))
    assert len({drawn(key)["alpha"] for key in range(60)}) >= 4


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
    assert accountant.merge(own.event).chance == 0.0
    assert search.plan_.covers(own.event) and search.privacy_.delta_at(2.0) <= 600**-2.0


def test_runs_of_another_kind_are_charged_as_randomized_response():
    X, y = rows()
    search = DPGridSearchCV(DPMLPClassifier(hidden_layer_sizes=(4,)), {"max_iter": [3, 5]},
                            epsilon=3.0).fit(X, y)
    (run,) = tally(search.privacy_.event)
    assert {type(event) for event in tally(run.event)} == {Pure, Disclosure}
    assert search.privacy_.delta_at(3.0) <= search.privacy_.delta
    assert search.plan_.run_epsilon > 1.0


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


@pytest.mark.parametrize("name", SCORERS)
def test_scores_are_those_of_scikit_learn(name):
    """With a bound beyond all losses."""
    X, y = rows(200)
    y = np.where(np.arange(200) % 9, y, 1 - y)
    numbers = "error" in name
    model = (Ridge() if numbers else LogisticRegression()).fit(X[:100], y[:100])
    held = X[100:], y[100:]
    bound = 1.0 if name in ("accuracy", "neg_brier_score") else 50.0
    exact = Scorer(name, bound)
    found = exact.of_mean(exact.losses(model, *held).mean())
    assert found == pytest.approx(get_scorer(name)(model, *held))
    assert -bound < found < (name == "accuracy")


def test_labels_that_the_training_part_lacks_are_still_classes():
    X, y = rows(100)
    y[:] = 0
    y[7], y[8] = 1, 2
    for seed in range(5):
        found = grid(random_state=seed).fit(X, y)
        assert found.classes_.tolist() == [0, 1, 2]
        assert "the 3 class labels (taken from y)" in found.privacy_.public
    declared = grid(DPLogisticRegression(solver="gd", classes=[0, 1, 2])).fit(X, y)
    assert "the 3 class labels (declared)" in declared.privacy_.public


def test_a_seed_repeats_a_search_and_an_int_the_split_alone():
    X, y = rows()

    def scores(random_state, X=X):
        found = grid(random_state=random_state).fit(X, y)
        assert found.privacy_.reproducible == isinstance(random_state, NoiseSeed)
        return found.best_score_, found.best_params_["alpha"]

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


@every_check(grid(epsilon=8.0, n_iter=1, random_state=NoiseSeed(0)))
def test_scikit_learn_finds_nothing_wrong(estimator, check, monkeypatch):
    run_check(estimator, check, monkeypatch)


@pytest.mark.audit
@every_check(
    # The text of a distribution has its address, which names of tests must not.
    randomized(random_state=NoiseSeed(0), epsilon=8.0).set_params(
        param_distributions={"alpha": [0.0, 0.1]}),
    grid(DPRidge(target_bounds=(0, 1)), random_state=NoiseSeed(0)))
def test_scikit_learn_finds_nothing_wrong_elsewhere(estimator, check, monkeypatch):
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


@pytest.mark.parametrize("mean_runs", [1, 5.0])
@pytest.mark.parametrize("disclosed", [0.0, 0.1])
def test_a_run_shows_a_row_by_no_larger_chance_than_was_declared(mean_runs, disclosed):
    """Less noise to pay for is no reason for a larger chance."""
    plan = search_plan(2.0, 1e-5, mean_runs, 800, 200, gaussian=True, disclosed=disclosed)
    allowed = accountant.merge(plan.run_event)
    assert plan.covers(plan.run_event)
    assert (allowed.chance > 0.0) == (disclosed > 0.0)
    cheap = Gaussian(allowed.rest.mu / 2)
    assert plan.covers(Composed((cheap, Disclosure(allowed.chance))) if disclosed else cheap)
    for chance in (allowed.chance * 1.01 + 1e-12, 0.9):
        assert not plan.covers(Composed((cheap, Disclosure(chance))))

"""Candidates that follow from one training run: chosen under noise, and trained once."""

import math
import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
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
from dpsk._charging import Prepaid, paid_for
from dpsk._mechanism import session as release
from dpsk._mechanism.replay import Recording, Replay
from dpsk._mechanism.session import Session
from dpsk._privacy import accountant
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.closed_forms import bounded_range_epsilon, bounded_range_mu, gaussian_mu
from dpsk._privacy.events import Composed, Gaussian, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._solvers import SOLVERS
from dpsk.model_selection import _search
from dpsk.model_selection._candidates import TemperedClassifier, post_candidates
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._scoring import Scorer
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.model_selection.test_searches import grid, rows

THRESHOLDS = {"threshold": [0.1, 0.5, 0.9]}
TEMPERATURES = {"temperature": [0.5, 1.0, 2.0]}
ALPHA_PATH = {"alpha": [1e-3, 0.1, 10.0]}


def ridge(**params):
    return DPRidge(**{"solver": "sufficient_statistics", "target_bounds": (0, 1),
                      "data_norm": 1.0, **params})


def fitted(model, answers, X, y):
    """Return a model that keeps its answers, or is given those that were kept."""
    with paid_for(model, Prepaid("a search", frozenset(), answers=answers)):
        return model.fit(X, y)


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
    held = accountant.merge(plan.holdout_event).mu
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
        mu = math.hypot(*(accountant.merge(each).mu for events in released for each in events))
        assert 0.9 * found.privacy_.event.mu < mu <= found.privacy_.event.mu * (1 + 1e-9)


def test_the_best_of_several_runs_covers_their_choices():
    X, y = rows()
    found = grid(post_params=THRESHOLDS).fit(X, y)
    (event,) = tally(found.privacy_.event)
    assert event == BestOf(event.event, 3.0)
    plan = found.plan_
    choice, score = plan.holdout_event.events
    assert math.hypot(choice.mu, score.mu) <= event.event.mu == plan.run_event.mu
    # Half of mu^2 each: the noise on a score, and that on the scores of the candidates.
    assert plan.score_noise == pytest.approx(math.sqrt(2) / (60 * event.event.mu), rel=1e-6)
    scale = 2.0 / bounded_range_epsilon(plan.choice.mu)
    assert bounded_range_mu(2.0 / scale) == pytest.approx(event.event.mu / math.sqrt(2), rel=1e-6)
    assert set(found.best_params_) == {"alpha", "threshold"}
    assert found.best_estimator_.estimator.alpha == found.best_params_["alpha"]
    assert found.best_estimator_.estimator.privacy_ is found.privacy_


@every_search
def test_nothing_of_what_was_not_chosen_is_kept(name, monkeypatch):
    X, y = rows()
    fits, fit = [], DPLogisticRegression.fit
    monkeypatch.setattr(DPLogisticRegression, "fit",
                        lambda self, *args: fits.append(self) or fit(self, *args))
    found = clone(SEARCHES[name]).fit(X, y)
    assert {each for each in vars(found) if each.endswith("_")} == {
        "best_estimator_", "best_params_", "best_score_", "privacy_", "plan_", "scorer_"}
    # One training, whatever the number of candidates.
    assert len(fits) == (name != "alpha")
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


class Fixed:
    """Candidates of known losses; the place stands for the model."""

    table = np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.5, 0.0], [1.0, 1.0, 1.0, 1.0]])

    def trained(self, model, plan, admission, X, y):
        return [model]

    def losses(self, models, scorer, X, targets):
        yield from self.table

    def made(self, models, place):
        return place


def test_a_run_draws_the_law_of_its_price_and_the_declared_noise():
    """1500 draws: chi-square of 2 degrees, and six deviations; a false alarm in 1e-7 or less."""
    plan = search_plan(1.0, 1e-3, 2.0, 4, 4, gaussian=True, disclosed=0.0, choices=3)
    found = [_search._run(None, plan, None, None, Fixed(), Session(
        EntropyStream(), Ledger(plan.holdout_event)), ((None, None), (None, None)))
        for _ in range(1500)]
    sums = 4 * (0.5 - Fixed.table.mean(axis=1))
    scale = 2.0 / bounded_range_epsilon(plan.choice_mu)
    law = np.exp(sums / scale) / np.exp(sums / scale).sum()
    drawn = np.bincount([place for _, _, place in found], minlength=3)
    assert ((drawn - 1500 * law) ** 2 / (1500 * law)).sum() < 36.9
    noise = np.array([score - sums[place] / 4 for score, _, place in found])
    assert noise.std() == pytest.approx(1 / (4 * plan.score_mu), rel=6 / math.sqrt(3000))
    assert all(model == place for _, model, place in found)
    # A row that is replaced moves a sum by 1: so much and no less is what the law is priced for.
    worst = np.log(law) - np.log(softmax((sums + np.array([1.0, -1.0, -1.0])) / scale))
    assert np.ptp(worst) == pytest.approx(bounded_range_epsilon(plan.choice_mu), rel=1e-9)


def test_candidates_are_what_is_predicted():
    X, y = rows()
    model = DPLogisticRegression(solver="gd", epsilon=4.0).fit(X, y)
    chances = model.predict_proba(X)
    scorer = Scorer("accuracy", 1.0)
    _, after = post_candidates(THRESHOLDS, model, scorer)
    for place, losses in enumerate(after.losses([model], scorer, X, y)):
        made = after.made([model], place)
        expected = chances[:, 1] >= THRESHOLDS["threshold"][place]
        np.testing.assert_array_equal(made.predict(X), expected)
        np.testing.assert_array_equal(losses, scorer.losses(made, X, y))
    scorer = Scorer("neg_brier_score", 1.0)
    _, after = post_candidates(TEMPERATURES, model, scorer)
    for place, losses in enumerate(after.losses([model], scorer, X, y)):
        made = after.made([model], place)
        expected = softmax(np.log(chances) / TEMPERATURES["temperature"][place], axis=1)
        np.testing.assert_allclose(made.predict_proba(X), expected, rtol=1e-10)
        np.testing.assert_array_equal(made.predict(X), model.predict(X))
        np.testing.assert_allclose(losses, scorer.losses(made, X, y), rtol=1e-12)
    assert made.classes_ is model.classes_
    assert made.__sklearn_is_fitted__()
    assert not TemperedClassifier(DPLogisticRegression()).__sklearn_is_fitted__()


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


def test_a_temperature_is_fitted_with_the_certificate_and_the_parameters_of_its_estimator():
    X, y = rows()
    model = TemperedClassifier(DPLogisticRegression(solver="gd", epsilon=0.5), 2.0)
    model.fit(X, y, sample_weight=np.full(300, 0.5))
    assert model.privacy_ is model.estimator_.privacy_
    chances = softmax(model.estimator_.predict_log_proba(X) / 2.0, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), chances)
    assert model.__sklearn_is_fitted__() and not clone(model).__sklearn_is_fitted__()


@pytest.mark.parametrize("params", [{}, {"target_bounds": "auto"}, {"data_norm": "auto"}],
                         ids=["declared", "learnt targets", "learnt norm"])
def test_a_path_follows_from_the_answers_alone(params):
    """A replayed fit has the answers, and rows that say nothing."""
    X, y = rows(3000)
    kept = Recording()
    first = fitted(ridge(epsilon=4.0, **params), kept, X, y)
    assert len(kept.answers) == sum(tally(first.privacy_.event).values())
    before = pickle.dumps([answer for _, answer in kept.answers])
    blank = np.full_like(X, 0.5), np.zeros(len(y))
    for alpha in (1e-3, 0.1):
        again = fitted(ridge(epsilon=4.0, alpha=alpha, **params), Replay(kept), *blank)
        assert again.privacy_.event == first.privacy_.event
        assert again.target_bounds_ == first.target_bounds_
        if alpha == first.alpha:
            np.testing.assert_array_equal(again.coef_, first.coef_)
            assert again.intercept_ == first.intercept_
        else:
            assert np.linalg.norm(again.coef_) < np.linalg.norm(first.coef_)
    assert pickle.dumps([answer for _, answer in kept.answers]) == before


def test_a_replayed_path_is_the_ridge_of_the_released_moments():
    X, y = rows(3000)
    kept = Recording()
    fitted(ridge(fit_intercept=False, epsilon=8.0), kept, X, y)
    _, (matrix, vector) = kept.answers[-1]
    assert np.linalg.eigvalsh(matrix)[0] > 100
    found = fitted(ridge(fit_intercept=False, epsilon=8.0, alpha=0.5), Replay(kept), X, y)
    expected = np.linalg.solve(matrix + 0.5 * 3000 * np.eye(3), vector)
    # Of targets over their largest size.
    expected *= np.abs(found.target_bounds_).max()
    np.testing.assert_allclose(found.coef_, expected, rtol=1e-8)


def test_answers_go_to_the_same_releases_only():
    X, y = rows()
    kept = Recording()
    fitted(ridge(), kept, X, y)
    others = [ridge(epsilon=2.0), ridge(data_norm=2.0), DPRidge(solver="gd", data_norm=1.0),
              DPMLPClassifier(hidden_layer_sizes=(2,), max_iter=2)]
    for other in others:
        with pytest.raises(RuntimeError, match="does not follow"):
            fitted(other, Replay(kept), X, y)
    with pytest.raises(RuntimeError, match="does not follow"):
        fitted(ridge(), Replay(Recording()), X, y)


@pytest.mark.parametrize("name", [name for name, member in vars(release.Session).items()
                                  if callable(member) and not name.startswith("_")])
def test_answers_that_are_given_again_are_all_there_is(name):
    """Nothing else of what a fit may draw."""
    again = Replay(Recording()).opened(None, Ledger(Composed(())))
    with pytest.raises(RuntimeError, match="This fit draws by itself"):
        getattr(again, name)(2)


@pytest.mark.parametrize("answer", [np.arange(3.0), (np.arange(3.0), np.eye(2)), 7], ids=repr)
def test_who_gets_an_answer_changes_it_for_nobody_else(answer, monkeypatch):
    kept, expected = Recording(), deepcopy(answer)
    monkeypatch.setattr(release.Session, "__call__", lambda *asked, **options: answer)
    ways = [lambda: kept, lambda: Replay(kept), lambda: Replay(kept)]
    for way in ways:
        found = way().opened(None, Ledger(Composed(())))(Gaussian(1.0), None)
        np.testing.assert_equal(found, expected)
        for part in found if isinstance(found, tuple) else (found,):
            if isinstance(part, np.ndarray):
                part[:] = np.nan


def test_only_solvers_that_ask_nothing_of_a_penalty_have_a_path():
    assert {name for name, solver in SOLVERS.items() if solver.penalizes_after} == {
        "sufficient_statistics"}


def test_a_single_run_draws_no_number_of_runs(monkeypatch):
    X, y = rows()
    monkeypatch.setattr(release.streams, "geometric", lambda *args: pytest.fail("drawn"))
    assert grid(n_iter=1).fit(X, y).privacy_.event.mu > 0
    assert isinstance(one_run(DPLogisticRegression(solver="gd"), None).fit(X, y).privacy_.event,
                      Gaussian)


def test_the_score_is_that_of_what_was_chosen():
    X, y = rows(600)
    found = one_run(DPLogisticRegression(solver="gd"), THRESHOLDS, epsilon=100.0).fit(X, y)
    # Enough budget that the best of the three is chosen, and that noise is small.
    assert found.best_params_ == {"threshold": 0.5}
    assert found.best_score_ == pytest.approx(found.score(X, y), abs=0.15)


def test_a_seed_repeats_what_is_chosen():
    X, y = rows()
    shown = [(found.best_params_, found.best_score_) for found in (
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

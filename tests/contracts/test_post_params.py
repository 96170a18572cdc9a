"""Candidates without a fit: the law of their choice, and answers that are given again."""

import math
import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone

from dpsk import (
    DPLogisticRegression,
    DPMLPClassifier,
    DPRidge,
)
from dpsk._charging import Prepaid, paid_for
from dpsk._mechanism import session as release
from dpsk._mechanism.replay import Recording, Replay
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_epsilon, bounded_range_mu
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._solvers import SOLVERS
from dpsk.accounting import BestOf, Composed, Gaussian
from dpsk.model_selection import _runs
from dpsk.model_selection._candidates import TemperedClassifier, post_candidates
from dpsk.model_selection._part import Part
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._scoring import Scorer
from tests.events import tally
from tests.model_selection.test_post_params import TEMPERATURES, THRESHOLDS, one_run, ridge
from tests.model_selection.test_searches import grid, rows


def fitted(model, answers, X, y):
    """Return a model that keeps its answers, or is given those that were kept."""
    with paid_for(model, Prepaid("a search", frozenset(), answers=answers)):
        return model.fit(X, y)


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


class Fixed:
    """Candidates of known losses; the place stands for the model."""

    table = np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.5, 0.0], [1.0, 1.0, 1.0, 1.0]])

    def trained(self, model, plan, admission, part):
        return [model]

    def losses(self, models, scorer, X, targets):
        yield from self.table

    def made(self, models, place):
        return place


def test_a_run_draws_the_law_of_its_price_and_the_declared_noise():
    """1500 draws: chi-square of 2 degrees, and six deviations; a false alarm in 1e-7 or less."""
    plan = search_plan(1.0, 1e-3, 2.0, 4, 4, gaussian=True, disclosed=0.0, choices=3)
    found = [_runs.scored([None], plan, {"score": None}, Fixed(), Session(
        EntropyStream(), Ledger(plan.holdout_event)), Part(None, None, None))
        for _ in range(1500)]
    sums = 4 * (0.5 - Fixed.table.mean(axis=1))
    scale = 2.0 / bounded_range_epsilon(plan.choice_mu)
    law = np.exp(sums / scale) / np.exp(sums / scale).sum()
    drawn = np.bincount([place for _, _, place, _ in found], minlength=3)
    assert ((drawn - 1500 * law) ** 2 / (1500 * law)).sum() < 36.9
    noise = np.array([score - sums[place] / 4 for score, _, place, _ in found])
    assert noise.std() == pytest.approx(1 / (4 * plan.score_mu), rel=6 / math.sqrt(3000))
    assert all(model == place for _, model, place, _ in found)
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

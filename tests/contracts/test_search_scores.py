"""Scores of a search: how far a row moves them, and what follows from secret draws."""

import pickle

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPRidge,
)
from dpsk._mechanism import session as release
from dpsk._privacy.noise.streams import KeyedStream
from dpsk.accounting import Composed, Disclosure, Gaussian
from dpsk.model_selection import _search
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._scoring import SCORERS, Scorer
from dpsk.model_selection._split import split_rows
from tests.events import disclosed, total_mu
from tests.instruments import fix_runs
from tests.model_selection.test_searches import grid, rows


@pytest.fixture
def several_runs(monkeypatch):
    """Make seven runs in every search; return what they had: (params, noisy score) each."""
    seen, run = [], _search._run

    def recorded(model, *args):
        found = run(model, *args)
        seen.append((model.alpha, found[0]))
        return found

    fix_runs(monkeypatch, 7)
    monkeypatch.setattr(_search, "_run", recorded)
    return seen


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
    assert len({drawn(key)[1]["alpha"] for key in range(60)}) >= 4


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


@pytest.mark.parametrize("mean_runs", [1, 5.0])
@pytest.mark.parametrize("chance", [0.0, 0.1])
def test_a_run_shows_a_row_by_no_larger_chance_than_was_declared(mean_runs, chance):
    """Less noise to pay for is no reason for a larger chance."""
    plan = search_plan(2.0, 1e-5, mean_runs, 800, 200, gaussian=True, disclosed=chance)
    allowed = disclosed(plan.run_event)
    assert plan.covers(plan.run_event)
    assert (allowed > 0.0) == (chance > 0.0)
    cheap = Gaussian(total_mu(plan.run_event) / 2)
    assert plan.covers(Composed((cheap, Disclosure(allowed))) if chance else cheap)
    for more in (allowed * 1.01 + 1e-12, 0.9):
        assert not plan.covers(Composed((cheap, Disclosure(more))))


def test_the_best_of_all_runs_is_kept_and_nothing_of_others(several_runs):
    X, y = rows()
    found = grid().fit(X, y)
    alpha, score = max(several_runs, key=lambda run: run[1])
    assert len(several_runs) == 7
    assert found.best_params_ == {"alpha": alpha} and found.best_estimator_.alpha == alpha
    assert found.best_score_ == pytest.approx(min(1.0, 0.5 + score))
    fitted = {name for name in vars(found) if name.endswith("_")}
    assert fitted == {"best_estimator_", "best_params_", "best_score_", "privacy_", "plan_",
                      "scorer_", "best_score_standard_error_", "best_index_", "cv_results_",
                      "n_splits_"}
    # Neither the scores of the others nor how many there were.
    kept = pickle.dumps(found)
    assert not any(np.float64(other).tobytes() in kept for _, other in several_runs)
    assert "7" not in str(found.plan_).split(" on average")[0]


@pytest.mark.thorough
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

"""Scores of a search: how far a row moves them, and what follows from secret draws."""

import pickle

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn import config_context
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, f1_score, get_scorer, make_scorer

from dpsk import (
    DPDecisionTreeClassifier,
    DPGridSearchCV,
    DPLinearSVC,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPRidge,
    PrivacyBudget,
)
from dpsk._mechanism import session as release
from dpsk._privacy.noise.streams import KeyedStream
from dpsk.accounting import Composed, Disclosure, Gaussian
from dpsk.model_selection import _search
from dpsk.model_selection._part import Part
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._score_kinds import R2, LabelScore, RankScore
from dpsk.model_selection._scoring import SCORERS, RowScore, Scorer, chosen_scorers
from dpsk.model_selection._split import split_rows
from dpsk.testing import NoiseSeed
from tests.events import disclosed, total_mu
from tests.instruments import fix_runs
from tests.model_selection.test_searches import grid, rows

ODD = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, -0.0, 0.5, 1.0, 2.0, 1e-300])
SCORES = [LabelScore("balanced_accuracy"), LabelScore("f1"), RankScore("roc_auc"),
          RankScore("average_precision"),
          R2("r2", Scorer("neg_mean_squared_error", 4.0), -1.0, 1.0),
          RowScore("callable", 3.0, lambda model, X, y: model.predict(X)[0] - y[0], 1.0)]
every_score = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)


@pytest.fixture
def several_runs(monkeypatch):
    """Make seven runs in every search; return what they had: (params, noisy score) each."""
    seen, run = [], _search.scored

    def recorded(models, *args):
        found = run(models, *args)
        seen.append((models[0].alpha, found[0]))
        return found

    fix_runs(monkeypatch, 7)
    monkeypatch.setattr(_search, "scored", recorded)
    return seen


def test_of_runs_that_score_alike_any_may_be_kept(several_runs, monkeypatch):
    X, y = rows(60)
    kept, made, recorded = set(), [], _search.scored

    def alike(models, *args):
        made.append(recorded(models, *args)[1])
        return 0.0, made[-1], 0, [[np.zeros(1)]]

    monkeypatch.setattr(_search, "scored", alike)
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


class SaysRows:
    """Says of a row what stands in it."""

    classes_ = np.arange(2)

    def predict(self, X):
        return X[:, 0]

    def predict_proba(self, X):
        return X


def noises_at(score, n_rows, mu):
    """Return the deviations of noise on means, about as a search has them."""
    return [diameter / (n_rows * mu * share**0.5)
            for diameter, share in zip(score.diameters, score.shares, strict=True)]


def replayed(score, n_pairs, seed=0):
    """Return how far rows that are replaced move sums, in what is priced: the most of each.

    What later sums are asked of follows from earlier ones, which are released: those are fixed.
    """
    rng, most = np.random.default_rng(seed), np.zeros(len(score.shares))
    numbers = score.name in ("r2", "callable")
    for pair in range(n_pairs):
        X, shown = rng.choice(ODD, size=(6, 2)), []
        y = rng.choice(ODD, size=6) if numbers else rng.integers(2, size=6)
        other, other_y, codes = X.copy(), y.copy(), np.array([0, 0, 0, 1, 1, 2])
        other[3], other_y[3] = rng.choice(ODD, size=2), rng.choice(ODD) if numbers else 1 - y[3]
        held = Part.of(X, y, codes if pair % 2 else None, None, 6, None)
        if pair % 2:
            other[4], other_y[4] = rng.choice(ODD, size=2), other_y[3]
        answers = [rng.normal(size=3000) for _ in score.shares]
        for table, targets in ((X, y), (other, other_y)):
            sums = []

            def ask(place, columns, sums=sums, held=held, answers=answers):
                columns = list(columns)
                assert all((np.abs(each) <= 0.5).all() for each in columns)
                sums.append(np.array([held.total(np.asarray(each)) for each in columns]))
                return answers[place][:len(columns)]

            n_units = 3 if pair % 2 else 6
            score.released(ask, SaysRows(), table, targets, n_units,
                           noises_at(score, n_units, 0.3))
            shown.append(sums)
        moved = [np.linalg.norm(one - two) for one, two in zip(*shown, strict=True)]
        most = np.maximum(most, np.array(moved) / score.diameters)
    return most


@every_score
def test_a_row_or_a_group_moves_sums_by_no_more_than_is_priced(score):
    # Where there are thousands of columns few pairs have to do.
    most = replayed(score, 60 if max(score.diameters) < 2.0 else 2)
    assert (most <= 1 + 1e-12).all() and most.max() > 0.6


@every_score
def test_without_noise_scores_are_those_of_scikit_learn(score):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = X[:, 0] + rng.normal(size=4000)
    if score.name in ("r2", "callable"):
        y = np.clip(y / 5.0, -1.0, 1.0)
        model = LinearRegression().fit(X[:500], y[:500])
    else:
        y = (y > 1.5).astype(int)
        model = LogisticRegression().fit(X[:500], y[:500])
    held = (X[500:], y[500:]) if score.name != "callable" else (X[:50], y[:50])
    means = score.released(lambda place, columns: np.array([each.mean() for each in columns]),
                           model, *held, len(held[1]), noises_at(score, len(held[1]), 1e6))
    found = score.value(means, len(held[1]))
    truth = (np.mean(model.predict(held[0]) - held[1]) if score.name == "callable"
             else get_scorer(score.name)(model, *held))
    # Ranks are those of bins.
    assert found == pytest.approx(truth, abs=0.01 if isinstance(score, RankScore) else 1e-9)
    assert score.exact(model, *held) == pytest.approx(truth, abs=1e-9)


@every_score
def test_the_stated_error_is_that_of_the_noise(score):
    """Within a third below and a factor of two above that of draws of a fixed seed.

    That of average precision holds any order of rows within bins as well.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] + rng.normal(size=2000)
    numbers = score.name in ("r2", "callable")
    y = np.clip(y / 5.0, -1.0, 1.0) if numbers else (y > 1.0).astype(int)
    model = (LinearRegression() if numbers else LogisticRegression()).fit(X, y)
    noises = noises_at(score, 2000, 0.5)
    kept, drawn, binned = {}, [], isinstance(score, RankScore)
    for _ in range(16 if binned else 200):
        def ask(place, columns):
            if place not in kept or (place and len(score.shares) > 1):
                kept[place] = np.array([np.mean(each) for each in columns])
            return kept[place] + noises[place] * rng.normal(size=len(kept[place]))

        part = (X[:30], y[:30]) if score.name == "callable" else (X, y)
        if not drawn or len(score.shares) > 1:
            means = score.released(ask, model, *part, 2000, noises)
        else:
            means = [ask(0, ())]
        drawn.append(score.value(means, 2000))
    assert 0.67 < score.error(means, noises, 2000) / np.std(drawn) < (
        6.0 if score.name == "average_precision" else 2.0)


@pytest.mark.parametrize("score", [SCORES[2], SCORES[3]], ids=lambda score: score.name)
@pytest.mark.parametrize("depth", [1, 3])
def test_rows_of_a_leaf_are_ties_whose_order_adds_no_error(score, depth):
    """Whatever cells of the range would tell apart; all of it is drawn from fixed seeds."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 2)), np.arange(9000) % 2
    X[:, 0] += 1.2 * y
    tree = DPDecisionTreeClassifier(2.0, max_depth=depth, columns={0: (-4, 5), 1: (-4, 5)},
                                    classes=[0, 1], random_state=NoiseSeed(0))
    tree.fit(X[3000:], y[3000:])
    X, y, noises, off = X[:3000], y[:3000], noises_at(score, 3000, 0.35), []
    for _ in range(12):
        means = score.released(
            lambda place, columns: np.array([np.mean(each) for each in columns])
            + noises[place] * rng.normal(size=len(columns)), tree, X, y, 3000, noises)
        off.append(score.value(means, 3000) - score.exact(tree, X, y))
        stated = score.error(means, noises, 3000)
        assert stated < 0.008
        assert len(means[0].bins) <= tree.get_n_leaves() == 2**depth
    assert 0.4 * stated < np.sqrt(np.mean(np.square(off))) < 1.6 * stated


def test_scorers_of_scikit_learn_are_taken_by_what_they_are():
    found = chosen_scorers(get_scorer("r2"), None, DPRidge(target_bounds=(0, 1)))
    assert isinstance(found["score"], R2) and found["score"].errors.bound == 1.0
    model = DPLogisticRegression()
    assert chosen_scorers(make_scorer(f1_score), None, model)["score"] == LabelScore("f1")
    for other in (make_scorer(f1_score, pos_label=0),
                  make_scorer(accuracy_score, greater_is_better=False)):
        with pytest.raises(ValueError, match="one row at a time"):
            chosen_scorers(other, None, model)
    with config_context(enable_metadata_routing=True):
        weighted = make_scorer(f1_score).set_score_request(sample_weight=True)
        with pytest.raises(ValueError, match="asks for metadata"):
            chosen_scorers(weighted, None, model)


class Keeps:
    """A scorer that keeps rows, in itself and in the model."""

    def __init__(self):
        self.rows = []

    def __call__(self, model, X, y):
        self.rows.append(X)
        model.stolen_ = X
        assert len(X) == len(y) == 1
        return float(model.predict(X)[0] == y[0])


def test_a_scorer_of_somebody_elses_is_called_row_by_row_and_keeps_none():
    X, y = rows()
    scorer = Keeps()
    found = grid(scoring=scorer, score_bound=(0, 1), epsilon=100.0, n_iter=1,
                 random_state=NoiseSeed(0)).fit(X, y)
    assert found.best_score_ == pytest.approx(found.score(X, y), abs=0.2)
    assert not scorer.rows and not hasattr(found.best_estimator_, "stolen_")
    assert any("by nothing of rows before" in fact for fact in found.privacy_.public)


def test_one_of_several_scores_chooses_and_all_are_told():
    X, y = rows(2000)
    names = {"area": "roc_auc", "f1": "f1", "right": "accuracy"}
    found = grid(scoring=names, refit="f1", epsilon=30.0, n_iter=2, random_state=NoiseSeed(0)).fit(
        X, y)
    place = found.best_index_
    assert list(found.scorer_) == ["f1", "area", "right"]
    assert found.best_score_ == found.cv_results_["mean_test_f1"][place]
    for name in names:
        score, error = (found.cv_results_[f"{key}_test_{name}"][place] for key in ("mean", "std"))
        exact = found.scorer_[name].exact(found.best_estimator_, X, y)
        assert 0.0 < error and abs(score - exact) < 8 * error + 0.1
    assert found.score(X, y) == found.scorer_["f1"].exact(found.best_estimator_, X, y)
    assert sum(found.plan_.score_shares) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="several scores one of them chooses"):
        grid(scoring=list(names)).fit(X, y)


def test_what_a_score_needs_is_checked_first():
    X, y = rows()
    with PrivacyBudget(5.0, 1e-3) as budget:
        for search, match in ((grid(scoring="f1"), "is of two classes"),
                              (grid(DPLinearSVC(solver="gd"), scoring="neg_log_loss"),
                               "has no probabilities"),
                              (grid(scoring=len, score_bound=(1, 0)), "low below high"),
                              (grid(scoring="f1", post_params={"threshold": [0.5]}),
                               "DPTunedThresholdClassifier")):
            with pytest.raises(ValueError, match=match):
                search.fit(X, np.arange(len(y)) % 3 if "two" in match else y)
    assert not budget.charges


def test_without_a_refit_no_model_is_kept():
    X, y = rows()
    found = grid(refit=False).fit(X, y)
    assert found.best_params_["alpha"] in (1e-4, 1e-2, 1.0)
    assert not hasattr(found, "best_estimator_")
    assert "best_estimator_" not in found.privacy_.released

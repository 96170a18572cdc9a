"""Scores of thresholds: the law of the choice, its price, and what a row moves.

And areas of one tree's scores in a search, counted by leaf, whatever leaves hold.
"""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPDecisionTreeClassifier, DPGridSearchCV, make_dp_pipeline
from dpsk._data.passes import InPasses
from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk.metrics._score_plan import row_counts
from dpsk.model_selection import _threshold
from dpsk.model_selection._confusion import THRESHOLD_SCORES, ThresholdScore, confusion
from dpsk.model_selection._plan import search_plan
from dpsk.model_selection._score_kinds import RankScore
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.contracts.test_search_scores import noises_at
from tests.events import gaussian_delta, gaussian_mu, tally, total_mu
from tests.model_selection.test_searches import rows
from tests.model_selection.test_thresholds import tuned

AREAS = ["roc_auc", "average_precision"]


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
    assert total_mu(certificate.event) == pytest.approx(mu, rel=1e-9)
    assert certificate.delta_at(2.0) <= certificate.delta == 300**-2.0
    # Each of the two uses all of it, and no more.
    trained = clone(found.estimator_).fit(X, y).privacy_.event
    for part in (trained, plan.holdout_event):
        assert 1 - 1e-6 < total_mu(part) / total_mu(plan.event) <= 1.0
    assert len(tally(plan.holdout_event)) == (2 if scoring == "accuracy" else 3)
    assert found.estimator_.privacy_ is certificate
    assert "best_threshold_" in certificate.released


GRID = np.array([0.2, 0.4, 0.6, 0.8])


#: Every row that the grid tells apart, and one whose score is no number.
ROWS = list(itertools.product([0.1, 0.4, 0.9, np.nan], [False, True]))


def every_pair(score, size=3):
    """Yield the scores of thresholds for all tables of so many rows, and for all neighbors."""
    found = {}
    for table in itertools.combinations_with_replacement(range(len(ROWS)), size):
        scores, positive = map(np.array, zip(*map(ROWS.__getitem__, table), strict=True))
        found[table] = score.values(scores, positive, GRID)
    for rest in itertools.combinations_with_replacement(range(len(ROWS)), size - 1):
        for pair in itertools.permutations(range(len(ROWS)), 2):
            yield tuple(found[tuple(sorted((*rest, one)))] for one in pair)


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


def own_tree(**params):
    return DPDecisionTreeClassifier(columns={0: (0, 1), 1: (0, 1)}, classes=[0, 1], **params)


def leaf_table(n):
    X = np.random.default_rng(0).random((n, 2))
    return X, (X[:, 0] > np.random.default_rng(1).random(n)).astype(int)


def measured(name, model, X, y, noise):
    """Return the answer of a score, and its error, for noise that it is told and has."""
    score, rng, n = RankScore(name), np.random.default_rng(0), len(y)
    noises = noises_at(score, n, 1.0 / noise)
    means = score.released(
        lambda place, columns: np.array([np.mean(each) for each in columns])
        + noises[place] * rng.normal(size=len(columns)), model, X, y, n, noises)
    return score.value(means, n), score.error(means, noises, n)


@pytest.mark.parametrize("name", AREAS)
@pytest.mark.parametrize("depth", [1, 3])
def test_rows_of_one_leaf_alone_have_a_score(name, depth):
    """No exception tells of rows, or spends a budget for nothing; there is one bin of all."""
    X, y = leaf_table(2000)
    model = own_tree(epsilon=4.0, max_depth=depth, random_state=NoiseSeed(0)).fit(X, y)
    for noise in (1e-3, 1.0, 30.0):
        for n in (2, 40, 400):
            value, _ = measured(name, model, np.full((n, 2), 0.9), np.arange(n) % 2, noise)
            # Where noise hides how many rows are positive there is no number.
            assert 0.0 <= value <= 1.0 or (np.isnan(value) and noise > 0.1)
    same = np.full((300, 2), 0.5)
    for key in range(3):
        search = DPGridSearchCV(own_tree(), {"max_depth": [depth]}, scoring=name, delta=1e-6,
                                random_state=NoiseSeed(key))
        assert search.fit(same, np.arange(300) % 2).privacy_.epsilon <= 1.0


@pytest.mark.parametrize("noise", [1e-3, 100.0, 1e6])
def test_noise_puts_no_rows_beyond_the_last_cell(noise):
    rng = np.random.default_rng(0)
    for n_cells in (2, 5, 12, 130):
        levels = [noise * rng.normal(size=size) for size in (11, 121, 1331)]
        rows = row_counts(levels, 500, noise, np.full(n_cells, 1.0 / n_cells))
        assert rows.shape == (n_cells,) and (rows >= 0.0).all()
        assert rows.sum() == pytest.approx(500.0)


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_tree_that_ends_a_pipeline_is_counted_by_leaf(wrapped):
    X, y = leaf_table(4000)
    noise = NoiseSeed(0)
    for made in (make_pipeline(FunctionTransformer(), own_tree(epsilon=2.0, random_state=noise)),
                 make_dp_pipeline(FunctionTransformer(), own_tree(), epsilon=2.0,
                                  random_state=noise)):
        made.fit(X, y)
        shown = InPasses(made) if wrapped else made
        for name in AREAS:
            value, error = measured(name, shown, X, y, 1e-4)
            assert value == pytest.approx(RankScore(name).exact(made, X, y), abs=1e-6)
            assert error < 1e-6


class Otherwise(DPDecisionTreeClassifier):
    """A tree that says something else than its leaves."""

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_class_says_otherwise_is_not_counted_by_leaf(wrapped):
    X, y = leaf_table(4000)
    made = Otherwise(2.0, columns={0: (0, 1), 1: (0, 1)}, classes=[0, 1],
                     random_state=NoiseSeed(0)).fit(X, y)
    value, error = measured("roc_auc", InPasses(made) if wrapped else made, X, y, 1e-4)
    assert error > 1e-5
    assert abs(value - RankScore("roc_auc").exact(made, X, y)) < 4.0 * error

"""Scores of thresholds: the law of the choice, its price, and what a row moves."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from dpsk._mechanism.session import Session
from dpsk._privacy.closed_forms import bounded_range_epsilon
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk.model_selection import _threshold
from dpsk.model_selection._confusion import THRESHOLD_SCORES, ThresholdScore, confusion
from dpsk.model_selection._plan import search_plan
from tests.contracts.tapes import taped
from tests.events import gaussian_delta, gaussian_mu, tally, total_mu
from tests.model_selection.test_searches import rows
from tests.model_selection.test_thresholds import tuned


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

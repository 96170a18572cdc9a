"""Areas of one tree's scores in a search, counted by leaf: whatever leaves hold, and says them."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPDecisionTreeClassifier, DPGridSearchCV, make_dp_pipeline
from dpsk._data.passes import InPasses
from dpsk.metrics._score_plan import row_counts
from dpsk.model_selection._score_kinds import RankScore
from dpsk.testing import NoiseSeed
from tests.contracts.test_search_scores import noises_at

SCORES = ["roc_auc", "average_precision"]


def tree(**params):
    return DPDecisionTreeClassifier(columns={0: (0, 1), 1: (0, 1)}, classes=[0, 1], **params)


def table(n):
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


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("depth", [1, 3])
def test_rows_of_one_leaf_alone_have_a_score(name, depth):
    """No exception tells of rows, or spends a budget for nothing; there is one bin of all."""
    X, y = table(2000)
    model = tree(epsilon=4.0, max_depth=depth, random_state=NoiseSeed(0)).fit(X, y)
    for noise in (1e-3, 1.0, 30.0):
        for n in (2, 40, 400):
            value, _ = measured(name, model, np.full((n, 2), 0.9), np.arange(n) % 2, noise)
            # Where noise hides how many rows are positive there is no number.
            assert 0.0 <= value <= 1.0 or (np.isnan(value) and noise > 0.1)
    same = np.full((300, 2), 0.5)
    for key in range(3):
        search = DPGridSearchCV(tree(), {"max_depth": [depth]}, scoring=name, delta=1e-6,
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
    X, y = table(4000)
    noise = NoiseSeed(0)
    for made in (make_pipeline(FunctionTransformer(), tree(epsilon=2.0, random_state=noise)),
                 make_dp_pipeline(FunctionTransformer(), tree(), epsilon=2.0,
                                  random_state=noise)):
        made.fit(X, y)
        shown = InPasses(made) if wrapped else made
        for name in SCORES:
            value, error = measured(name, shown, X, y, 1e-4)
            assert value == pytest.approx(RankScore(name).exact(made, X, y), abs=1e-6)
            assert error < 1e-6


class Otherwise(DPDecisionTreeClassifier):
    """A tree that says something else than its leaves."""

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_class_says_otherwise_is_not_counted_by_leaf(wrapped):
    X, y = table(4000)
    made = Otherwise(2.0, columns={0: (0, 1), 1: (0, 1)}, classes=[0, 1],
                     random_state=NoiseSeed(0)).fit(X, y)
    value, error = measured("roc_auc", InPasses(made) if wrapped else made, X, y, 1e-4)
    assert error > 1e-5
    assert abs(value - RankScore("roc_auc").exact(made, X, y)) < 4.0 * error

"""A whole group of rows, replaced by hostile ones of any number: what it moves, and what it shows.

Answers of a job are replayed in jobs on neighbors, so that both ask at the same points. Then exact
totals tell of the sensitivity, and nothing else may differ.
"""

import pickle
import warnings
from itertools import islice
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import KFold

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPAdditiveRegressor,
    DPDecisionTreeClassifier,
    DPDecisionTreeRegressor,
    DPGaussianNB,
    DPGradientBoostingClassifier,
    DPGradientBoostingRegressor,
    DPGridSearchCV,
    DPLinearRegression,
    DPLogisticRegression,
    DPMinMaxScaler,
    DPOneHotEncoder,
    DPPipeline,
    DPRandomForestRegressor,
    DPSimpleImputer,
    DPStandardScaler,
    DPTableVectorizer,
    DPTunedThresholdClassifier,
)
from dpsk._data.groups import Groups
from dpsk._data.tables import read_table
from dpsk._privacy.noise import streams
from dpsk.metrics import (
    BinaryEvaluation,
    MulticlassEvaluation,
    RegressionEvaluation,
    dp_cross_validate,
)
from dpsk.statistics import dp_corrcoef, dp_mean, dp_median
from tests.contracts.tapes import spent, taped
from tests.estimators.test_groups import make
from tests.instruments import repeated_stream
from tests.registry import every_protector_of_groups

G, WHO = 60, 7
SIZES = np.resize([1, 3, 6, 2, 9], G)
HOSTILE = [0.0, 0.31, 1.0, np.nan, 1e300, -1e300]


def table(seed=0):
    """Return rows, labels and whose row each is; words that one draw of rows hardly misses."""
    rng = np.random.default_rng(seed)
    people = rng.permutation(np.repeat(np.arange(G), SIZES))
    n = len(people)
    X = pd.DataFrame({"score": rng.uniform(size=n), "size": np.exp(rng.normal(size=n)),
                      "word": rng.choice(["a", "b"], size=n)})
    return X, rng.integers(2, size=n), people


def neighbors(X, labels, people, seed=0):
    """Yield tables with other rows of one group, behind those of others or before them."""
    stay = people != WHO
    for place, (size, number) in enumerate((size, number) for size in (1, 2, 3, 40, 900)
                                           for number in HOSTILE):
        rng = np.random.default_rng([seed, place])
        own = pd.DataFrame({"score": np.full(size, number),
                            "size": rng.choice(HOSTILE, size=size),
                            "word": rng.choice(["a", "b"], size=size)})
        if place % 3 == 0:
            own["score"] = rng.uniform(size=size)
        parts = [(X[stay], labels[stay], people[stay]),
                 (own, rng.integers(2, size=size), np.full(size, WHO))]
        one, other = parts if place % 2 else parts[::-1]
        yield (pd.concat([one[0], other[0]], ignore_index=True),
               *(np.append(*pair) for pair in zip(one[1:], other[1:], strict=True)))


def _binary(X, labels, people, **params):
    return BinaryEvaluation.from_predictions(labels, X["score"], groups=people, labels=[0, 1],
                                             **params)


def _multiclass(X, labels, people):
    guesses = (X["score"] > 0.3).astype(int)
    return MulticlassEvaluation.from_predictions(labels, guesses, groups=people, labels=[0, 1])


def _regression(X, labels, people):
    return RegressionEvaluation.from_predictions(
        2.0 * labels - 0.5, X["score"], groups=people, target_bounds=(0.0, 1.0),
        residual_bound=0.4)


def _fit(make, columns, **params):
    def job(X, labels, people):
        return make(**{"epsilon": 3.0, "delta": 1e-4, "random_state": 0, **params}).fit(
            X[columns], labels, groups=people)
    return job


_NUMBERS, _WORDS = ["score", "size"], ["word"]


def _learnt(make, **params):
    def job(X, labels, people):
        return make(delta=1e-4, random_state=0, **params).fit(_plain(X), labels, groups=people)
    return job


def _few_targets(X, labels, people):
    """Learn bounds as a window of few targets, which are hostile for the replaced group."""
    return DPLinearRegression(3.0, delta=1e-4, max_iter=2, random_state=0).fit(
        _plain(X), X["score"].fillna(0.0), groups=people)


def _principal(X, labels, people):
    return DPPCA(3.0, delta=1e-4, data_norm=1.0, random_state=0).fit(
        np.nan_to_num(X[_NUMBERS].to_numpy()), groups=people)


def _logistic():
    return DPLogisticRegression(solver="gd", max_iter=3, data_norm=1.0, classes=[0, 1])


def _plain(X):
    return np.clip(X[_NUMBERS].fillna(0.0).to_numpy(), -1e6, 1e6)


def _threshold(X, labels, people, scoring="balanced_accuracy"):
    return DPTunedThresholdClassifier(
        _logistic(), epsilon=3.0, delta=1e-4, random_state=0, test_size=0.5, scoring=scoring,
        thresholds=[0.2, 0.4, 0.5, 0.6]).fit(_plain(X), labels, groups=people)


def _search(X, labels, people, **params):
    with mock.patch.object(streams, "geometric", lambda *args: 2):
        return DPGridSearchCV(
            _logistic(), {"alpha": [0.0]}, epsilon=3.0, delta=1e-4, random_state=0, test_size=0.5,
            **{"scoring": "neg_log_loss", **params}).fit(_plain(X), labels, groups=people)


def _folds(X, labels, people, cv=3):
    return dp_cross_validate(_logistic().set_params(random_state=0), _plain(X), labels, cv=cv,
                             groups=people, random_state=0)


def _pipeline(X, labels, people, step, **params):
    model = _logistic().set_params(data_norm="auto")
    return DPPipeline([("step", step), ("model", model)], epsilon=6.0, delta=1e-4, random_state=0,
                      **params).fit(X.fillna(0.0), labels, groups=people)


JOBS = {
    "scores": _binary, "public bins": lambda *rows: _binary(*rows, bins=7),
    "labels": _multiclass, "numbers": _regression,
    "vectorizer": _fit(DPTableVectorizer, [*_NUMBERS, *_WORDS], n_knots=5, max_categories=3),
    "scaler": _fit(DPStandardScaler, _NUMBERS), "imputer": _fit(DPSimpleImputer, _NUMBERS),
    "categories": _fit(DPOneHotEncoder, _WORDS, max_categories=3), "principal": _principal,
    "pipeline": lambda *rows: _pipeline(*rows, DPTableVectorizer(n_knots=3, max_categories=3)),
    "pipeline of parts": lambda *rows: _pipeline(*rows, ColumnTransformer(
        [("scale", DPMinMaxScaler(), _NUMBERS), ("words", DPOneHotEncoder(max_categories=3),
                                                 _WORDS)]), shares={
             "step__scale": 0.2, "step__words": 0.2}),
    "threshold": _threshold, "threshold of f1": lambda *rows: _threshold(*rows, scoring="f1"),
    "search": lambda *rows: _search(*rows),
    "search of thresholds": lambda *rows: _search(*rows, scoring="accuracy", post_params={
        "threshold": [0.3, 0.5, 0.7]}),
    "cross-validation": _folds,
    "folds in order": lambda *rows: _folds(*rows, cv=KFold(3)),
    "additive": _fit(DPAdditiveClassifier, [*_NUMBERS, *_WORDS], n_knots=3, classes=[0, 1],
                     max_categories=3, interactions=1, epsilon=40.0),
    "additive of numbers": _fit(DPAdditiveRegressor, _NUMBERS, n_knots=3,
                                target_bounds=(0.0, 1.0), interactions=[("score", "size")]),
    "balanced": _fit(DPGradientBoostingClassifier, _NUMBERS, classes=[0, 1, 2], max_iter=1,
                     init=None, class_weight="balanced"),
    "balanced logistic": _learnt(DPLogisticRegression, epsilon=60.0, max_iter=2, classes=[0, 1],
                                 class_weight="balanced"),
    "learnt bounds": _learnt(DPLinearRegression, epsilon=60.0, max_iter=2),
    "window of targets": _few_targets,
    "learnt ranges": _learnt(DPGaussianNB, epsilon=60.0),
    "boosting": _fit(DPGradientBoostingClassifier, [*_NUMBERS, *_WORDS], classes=[0, 1],
                     max_iter=2, max_categories=3, epsilon=40.0),
    "boosting of numbers": _fit(DPGradientBoostingRegressor, _NUMBERS, max_iter=2,
                                init=None, target_bounds=(0.0, 1.0)),
    "tree": _fit(DPDecisionTreeClassifier, [*_NUMBERS, *_WORDS], classes=[0, 1, 2], max_depth=2,
                 max_categories=3, epsilon=40.0),
    "tree of numbers": _fit(DPDecisionTreeRegressor, _NUMBERS, max_depth=2, epsilon=60.0),
    "forest of numbers": _fit(DPRandomForestRegressor, _NUMBERS, n_estimators=2, max_depth=2),
}


def shown(job, rows, answers=None, order=None):
    """Return all that a job shows, and the tape of its releases."""
    with (repeated_stream(order), taped(answers) as tape,
          warnings.catch_warnings(record=True) as warned):
        warnings.simplefilter("always")
        found = job(*rows)
    said = [str(one.message) for one in warned]
    return pickle.dumps((vars(found), said, found.privacy_.to_json())), tape


def largest_share(job, rows, others, order=None):
    """Return the largest share of its price that a neighbor moves an answer by."""
    face, tape = shown(job, rows)
    shares = []
    for other in others:
        changed, replayed = shown(job, other, tape.answers, order)
        assert changed == face and repr(replayed.public) == repr(tape.public)
        assert replayed.events == tape.events
        for events, parts, here, there in zip(tape.events, tape.parts, tape.totals,
                                              replayed.totals, strict=True):
            moves = [a - b for a, b in zip(here, there, strict=True)]
            shares.append(spent(events[0], parts, moves))
    assert max(shares) <= 1.0 + 1e-9
    return max(shares)


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("name", JOBS)
def test_a_hostile_group_moves_no_total_beyond_its_price_and_shows_in_nothing_else(name):
    rows = table()
    assert largest_share(JOBS[name], rows, neighbors(*rows)) > 0.3


def share_of_another_person(job, label):
    """Return the largest share where a person of another label takes the place of one.

    Each order of the groups of a table has one of its neighbor, equally probable, in which all
    others have the same indices. Here these are ranks of labels in the table.
    """
    rows = table()
    others = [(*other, np.where(people == WHO, label, people))
              for *other, people in islice(neighbors(*rows), 0, None, 5)]
    order = np.insert(np.delete(np.arange(G), WHO), 0 if label < 0 else G - 1, WHO)
    return largest_share(job, rows, others, order)


every_other_label = pytest.mark.parametrize("label", [-1, G])


@pytest.mark.covering(most=2)
@every_other_label
@pytest.mark.parametrize("name", JOBS)
def test_another_person_of_another_label_moves_nobody_else(name, label):
    assert share_of_another_person(JOBS[name], label) > 0.1


@pytest.mark.covering(most=1)
@every_other_label
@every_protector_of_groups
def test_another_person_moves_nobody_else_in_a_model(cls, label):
    def job(X, labels, people):
        model = make(cls, random_state=0, epsilon=40.0, max_iter=2)
        return model.fit(_plain(X), labels, groups=people)

    assert share_of_another_person(job, label) > 0.1


@pytest.mark.covering(most=1)
@every_other_label
@pytest.mark.parametrize("statistic", [dp_median, dp_mean, dp_corrcoef])
def test_another_person_moves_nobody_else_in_a_statistic(statistic, label):
    def job(X, labels, people):
        return statistic(_plain(X), delta=1e-4, random_state=0, groups=people)

    assert share_of_another_person(job, label) > 0.1


def test_one_row_stands_for_each_group_whatever_the_others_do():
    people = table()[2]
    drawn = Groups.of(people).one_each(3)
    assert np.array_equal(people[drawn], np.arange(G))
    for _, _, other in neighbors(*table()):
        again = Groups.of(other).one_each(3)
        # The same of their rows, in their order, for all groups but one.
        for one in np.delete(np.arange(G), WHO):
            own, its = (np.flatnonzero(each == one) for each in (people, other))
            assert np.searchsorted(own, drawn[one]) == np.searchsorted(its, again[one])
    counts = np.zeros(len(people))
    for seed in range(2000):
        counts[Groups.of(people).one_each(seed)] += 1
    expected = 2000.0 / SIZES[people]
    # Seeds are fixed; deviations of counts are at most 4.5 times as large as theirs by chance.
    assert np.all(np.abs(counts - expected) <= 4.5 * np.sqrt(np.maximum(expected, 1.0)))


def test_a_table_of_some_rows_is_as_if_no_others_had_been_read():
    X = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0], "b": ["x", "rare", None, "y"],
                      "c": pd.Categorical(["u", "v", "u", "v"])})
    whole, some = (read_table(DPTableVectorizer(), each, None) for each in (X, X.iloc[[3, 0]]))
    found = whole.rows(np.array([3, 0]))
    np.testing.assert_array_equal(found.values, some.values)
    assert found.found == some.found == [None, ["x", "y"], None]

"""Claims that an audit finds, and the neighboring tables that it fits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline

from dpsk import (
    DPAdditiveClassifier,
    DPAUCMaximizer,
    DPGaussianSampler,
    DPLogisticRegression,
    DPRidge,
    DPStandardScaler,
)
from dpsk.accounting import Gaussian, SampledGaussian, total, type_two_error
from dpsk.auditing import audit
from dpsk.auditing._claim import find_claim
from dpsk.auditing._publication import published
from dpsk.auditing._statistics import STATISTICS
from dpsk.auditing._tables import neighboring_tables
from tests.audits.faults import NoisyTotal


def test_a_claim_is_a_pair_a_certificate_an_event_or_that_of_all_members():
    X, y = np.eye(4), np.arange(4) % 2
    model = DPLogisticRegression(epsilon=0.5, delta=1e-3, precondition=False, data_norm=1.0)
    fitted = clone(model).fit(X, y)
    assert find_claim(None, model, fitted).event == fitted.privacy_.event
    assert find_claim(fitted.privacy_, model, fitted).event == fitted.privacy_.event
    assert find_claim(Gaussian(0.1), model, fitted).event == Gaussian(0.1)
    assert find_claim(2.0, model, fitted).delta == 0.0
    assert find_claim((2.0, 0.1), model, fitted).event is None
    ensemble = BaggingClassifier(model, n_estimators=2, bootstrap=False).fit(X, y)
    both = total(*(each.privacy_ for each in ensemble.estimators_))
    assert find_claim(None, ensemble, ensemble).epsilon == both.epsilon


_HALF = DPLogisticRegression(epsilon=0.5, delta=1e-3, precondition=False, data_norm=1.0)
_FIRST = DPStandardScaler(epsilon=2.0, delta=1e-3)


@pytest.mark.parametrize(("model", "count"), [
    (make_pipeline(FeatureUnion([("a", _FIRST), ("b", _FIRST)]), _HALF), 3),
    (make_pipeline(ColumnTransformer([("a", _FIRST, [0, 1, 2, 3])], sparse_threshold=0), _HALF),
     2),
    (VotingClassifier([("a", _HALF), ("b", _HALF)]), 2),
    (StackingClassifier([("a", _HALF)], final_estimator=_HALF, cv=2), 2),
    (CalibratedClassifierCV(_HALF, cv=2), 2),
    (OneVsRestClassifier(make_pipeline(FeatureUnion([("a", _FIRST)]), _HALF)), 2)])
def test_every_certificate_inside_is_claimed_once(model, count):
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
    found = find_claim(None, model, clone(model).fit(X, y))
    assert found.origin == f"the total of {count} certificates"
    assert found.delta == pytest.approx(count * 1e-3)


def test_certificates_of_frozen_estimators_are_not_claimed():
    """An audit never fits them again, so that it sees nothing that they released."""
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20) % 2
    model = make_pipeline(FrozenEstimator(clone(_FIRST).fit(X)), _HALF)
    assert find_claim(None, model, clone(model).fit(X, y)).epsilon == pytest.approx(0.5)


@pytest.mark.thorough
@pytest.mark.parametrize("claim", [(1.0, 1e-3), Gaussian(0.5), SampledGaussian(0.1, 1.0)])
def test_the_curve_of_a_claim_is_never_above_it_and_close(claim):
    found = find_claim(claim, None, None)

    def exact(errors):
        if found.event is not None:
            return type_two_error(claim, errors)
        return np.maximum(0, np.maximum(0.999 - np.e * errors, (0.999 - errors) / np.e))

    errors = np.random.default_rng().uniform(size=200)**3
    assert np.all(found.type_two_error(errors) <= exact(errors) + 1e-15)
    np.testing.assert_allclose(found.type_two_error(errors), exact(errors), atol=2e-3)
    # Where it is computed nothing is lost.
    round_ones = np.linspace(0.0, 1.0, 201)
    np.testing.assert_allclose(found.type_two_error(round_ones), exact(round_ones), atol=1e-12)


def test_all_statistics_may_be_named():
    one, other = np.ones((3, 1)), np.array([[1.0], [1.0], [0.0]])
    assert audit(NoisyTotal(), statistic=list(STATISTICS), claim=(1.0, 0.0), runs=40,
                 neighbors=[((one,), (other,))]).fits >= 80


@pytest.mark.parametrize(("estimator", "count"), [
    (DPRidge(1.0, target_bounds=(-1, 1)), 8), (DPRidge(1.0), 14), (DPGaussianSampler(1.0), 7),
    (DPLogisticRegression(classes=["no", "yes"]), 8), (DPAUCMaximizer(), 8)])
def test_estimators_of_all_kinds_have_tables_that_they_take(estimator, count):
    pairs = neighboring_tables(estimator)
    assert len(pairs) == count
    for pair in pairs:
        first, second = pair.tables
        _differ_in_row_0(first["X"], second["X"], first.get("y"), second.get("y"))
    clone(estimator).fit(**second)


def _differ_in_row_0(X, other_X, y, other_y):
    np.testing.assert_array_equal(np.asarray(X)[1:], np.asarray(other_X)[1:])
    moved = np.any(np.asarray(X)[0] != np.asarray(other_X)[0])
    if y is not None:
        np.testing.assert_array_equal(y[1:], other_y[1:])
        moved |= y[0] != other_y[0]
    assert moved


def test_the_row_of_a_frame_is_replaced_with_its_words():
    n = 80
    X = pd.DataFrame({"age": np.arange(n), "word": np.where(np.arange(n) % 3, "a", "b")})
    y = np.where(np.arange(n) % 2, "yes", "no")
    model = DPAdditiveClassifier(1.0, delta=1e-3, interactions=0)
    pairs = {pair.name: pair for pair in neighboring_tables(model, X, y)}
    for pair in pairs.values():
        first, second = pair.tables
        _differ_in_row_0(first["X"], second["X"], first["y"], second["y"])
        assert list(second["X"].columns) == ["age", "word"]
    pair = pairs["long row or a usual one"]
    second = pair.tables[1]["X"]
    assert published(model.fit(**pair.tables[1]), pair.probes).numbers
    assert second["age"][0] == 1e3 * (n - 1) and second["word"][0] == "b"
    within = [table["X"]["age"] for table in
              pairs["row of least or of greatest entries"].tables]
    assert within[0][0] == 0 and within[1][0] == n - 1
    without, alone = (table["X"]["word"] for table in
                      pairs["row with a category of its own or none"].tables)
    assert "b" not in set(without) and list(alone).count("b") == 1
    assert pairs["row of missing values"].tables[0]["X"].iloc[0].isna().all()


@pytest.mark.parametrize("X", [
    pd.DataFrame({"word": ["a"] * 9}), pd.DataFrame({"word": ["a", "b", "b"] * 3, "x": 1.0}),
    pd.DataFrame({"word": pd.Categorical(["a", "b", "b"] * 3),
                  "when": pd.date_range("2020", periods=9)}),
    pd.DataFrame({"x": pd.array([1, None, 3] * 3, dtype="Int64"), "y": 2.0}),
    np.arange(9).reshape(9, 1), [[0.0, 1.0]] * 5, np.eye(4) > 0])
def test_given_tables_of_all_kinds_have_pairs_that_differ(X):
    pairs = neighboring_tables(DPAdditiveClassifier(1.0), X, np.zeros(len(X)))
    assert any(pair.moves_features for pair in pairs)
    for pair in pairs:
        first, second = (pd.DataFrame(table["X"]) for table in pair.tables)
        assert first.equals(second) is not pair.moves_features
        assert first[1:].equals(second[1:])

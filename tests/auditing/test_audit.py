"""Audits find faults, and leave what is right alone."""


import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer

from dpsk import (
    DPPCA,
    DPAdditiveClassifier,
    DPAUCMaximizer,
    DPGaussianSampler,
    DPGridSearchCV,
    DPLogisticRegression,
    DPRidge,
    DPStandardScaler,
    make_dp_pipeline,
)
from dpsk.accounting import Gaussian, SampledGaussian, total, type_two_error
from dpsk.auditing import audit
from dpsk.auditing._claim import find_claim
from dpsk.auditing._publication import published
from dpsk.auditing._statistics import STATISTICS
from dpsk.auditing._tables import neighboring_tables
from dpsk.testing import NoiseSeed
from tests.auditing.faults import FAULTS, NoisyTotal

#: So rarely is a claim refuted that holds, where a test of every run says that it is not.
SURE = 5e-9
_PAIR = [tuple({"X": np.array([[entry], [0.0]])} for entry in (-1.0, 1.0))]
_SEEDED = DPLogisticRegression(random_state=NoiseSeed(0))


@pytest.mark.parametrize("name", ["exact scaler", "noise on half of the coordinates"])
def test_what_has_no_noise_is_found_in_a_moment(name):
    """Found in the first round, of 40 fits on either table, unless they agree by chance."""
    found = audit(FAULTS[name][0], runs=40, random_state=0)
    assert found.refuted and found.epsilon_lower > found.claim.epsilon
    assert "REFUTED" in str(found) and "REFUTED" in found._repr_html_()


def test_a_private_fit_is_not_refuted():
    """False-alarm rate at most 1e-8."""
    y = np.arange(64) % 2
    tables = tuple((np.vstack([np.full((1, 2), first), np.zeros((63, 2))]), y)
                   for first in (-1.0, 1.0))
    found = audit(FAULTS["noise on half of the coordinates"][1], runs=40, level=SURE,
                  neighbors=[tables])
    assert not found.refuted and "not refuted" in str(found)
    assert found.epsilon_lower <= found.claim.epsilon
    assert found.claim.delta == found.delta == 1 / 64**2
    assert found.fits > 100 and found.evidence


@pytest.mark.audit
@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_is_flagged(name):
    """Misses each with probability below 0.05 by what was measured: two misses are one in 400.

    By as many fits as a quiet machine makes in the time that an audit takes by default.
    """
    for _ in range(2):
        found = audit(FAULTS[name][0], runs=2000)
        if found.refuted:
            return
    raise AssertionError(f"{name}: not refuted\n{found}")


@pytest.mark.audit
def test_twenty_clean_audits_flag_nothing():
    """False-alarm rate at most 1e-7 together."""
    clean = [good for _, good in FAULTS.values()]
    for i in range(20):
        found = audit(clean[i % len(clean)], runs=300, level=SURE)
        assert not found.refuted, found


@pytest.mark.parametrize(("noise", "refuted"), [(0.0, True), (1 / 3, True), (1.0, False)])
def test_estimators_of_others_are_audited_by_their_parameters(noise, refuted):
    """Misses and false alarms both have probability below 1e-8: a third of the noise is epsilon 3,
    and 1500 runs show 1.3 of it at the least."""
    found = audit(NoisyTotal(noise=noise), runs=1500, level=SURE, neighbors=_PAIR)
    assert found.refuted is refuted
    assert (found.claim.epsilon, found.claim.delta, found.claim.event) == (1.0, 0.0, None)


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


@pytest.mark.parametrize(("estimator", "params", "message"), [
    (LogisticRegression(), {}, "claim=None"),
    (DPLogisticRegression(epsilon=np.inf), {}, "nothing to refute"),
    (DPLogisticRegression(random_state=NoiseSeed(0)), {}, "random_state"),
    (make_pipeline(Normalizer(), _SEEDED), {"runs": 40}, "random_state.*NoiseSeed"),
    (BaggingClassifier(_SEEDED, bootstrap=False), {"runs": 40}, "random_state.*NoiseSeed"),
    (make_dp_pipeline(DPPCA(random_state=NoiseSeed(0)), DPLogisticRegression()), {"runs": 40},
     "random_state.*NoiseSeed"),
    (DPGridSearchCV(DPLogisticRegression(), {}, random_state=NoiseSeed(0)), {"runs": 40},
     "random_state.*NoiseSeed"),
    (DPLogisticRegression(), {"level": 0.5}, "level=0.5"),
    (DPLogisticRegression(), {"runs": 3}, "runs=3"),
    (DPLogisticRegression(), {"statistic": "mean"}, "statistic='mean'"),
    (DPLogisticRegression(), {"statistic": []}, r"statistic=\[\]"),
    (DPLogisticRegression(), {"statistic": ["sign", "mean"]}, "statistic=.*'mean'"),
    (DPLogisticRegression(), {"neighbors": "best"}, "neighbors='best'"),
    (DPLogisticRegression(), {"neighbors": []}, "neighbors="),
    (DPLogisticRegression(), {"claim": (1.0, 2.0)}, "delta=2.0"),
    (DPRidge(data_norm=None), {}, "data_norm=None"),
    (NoisyTotal(), {"neighbors": [({"X": np.eye(3)}, {"X": np.eye(3)})]}, "tables are equal"),
    (NoisyTotal(), {"neighbors": [((pd.DataFrame(np.eye(3)),), (pd.DataFrame(np.eye(3)),))]},
     "tables are equal"),
    (NoisyTotal(), {"neighbors": [((["a", "b"], [0, 1]), (["a", "b"], [0, 1]))]},
     "tables are equal"),
    (NoisyTotal(), {"neighbors": [(np.eye(3), np.zeros((3, 3)))]}, "must be a pair of tables"),
    (NoisyTotal(), {"neighbors": [([[1.0], [0.0]], [[0.0], [0.0]])]}, "must be a pair of tables"),
    (NoisyTotal(), {"neighbors": ((np.eye(3), [0, 1, 0]), (np.eye(3), [1, 1, 0]))},
     "must be a pair of tables"),
    (NoisyTotal(), {"X": sparse.csr_matrix(np.eye(3))}, "X=csr_matrix.*neighbors="),
    (NoisyTotal(), {"X": pd.DataFrame({"when": pd.date_range("2020", periods=1)})},
     "X=DataFrame: no entry.*neighbors="),
    (NoisyTotal(), {"X": ["a text", "another"]}, "X=list.*neighbors="),
    (NoisyTotal(), {"X": np.array([["a"], ["b"]])}, "X=ndarray.*neighbors="),
    (NoisyTotal(), {"X": (row for row in np.eye(3))}, "X=generator.*neighbors=")])
def test_what_cannot_be_audited_is_refused(estimator, params, message):
    with pytest.raises(ValueError, match=message):
        audit(estimator, **params)


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


def test_progress_is_told_and_processes_are_used():
    told, pair = [], tuple({"X": np.full((4, 1), entry)} for entry in (-2.0, -1.0))
    found = audit(NoisyTotal(), neighbors=[pair], runs=40, n_jobs=2, level=SURE,
                  progress=lambda made, text: told.append((made, text)))
    assert told[-1][0] == found.fits and "of 40" in told[-1][1]


def test_the_picture_holds_claim_verdict_and_evidence():
    """False-alarm rate at most 1e-6."""
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are an extra")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = audit(NoisyTotal(noise=0.0), runs=40, neighbors=_PAIR)
    drawn = found.plot()
    assert drawn.ax_.get_title() == "refuted"
    np.testing.assert_allclose(drawn.line_.get_ydata(), found.claim.type_two_error(
        np.linspace(0, 1, 201)))
    wrong, missed = found.error_rates()
    assert (wrong[0], missed[0]) == (1.0, 0.0) and (wrong[-1], missed[-1]) == (0.0, 1.0)
    assert len(drawn.marks_.get_offsets()) == len(found.evidence)
    clean = audit(NoisyTotal(), runs=200, level=SURE, neighbors=_PAIR)
    power = f"{clean.power.refutes_from:.3g}"
    assert clean.plot().ax_.get_title() == (
        f"not refuted; randomized response of epsilon {power} would be")
    nothing = audit(Normalizer(), claim=1.0, runs=40)
    assert nothing.plot().ax_.get_title() == "nothing tested"
    plt.close("all")

"""Audits find faults, and leave what is right alone."""

import atexit
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
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
from dpsk.audit import main
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
def test_every_fault_is_flagged_within_five_minutes(name):
    """Misses each with probability below 0.05 by what was measured: two misses are one in 400."""
    tries = 0
    while tries < 2:
        found = audit(FAULTS[name][0])
        assert found.seconds < 300
        tries += 1
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
    errors = np.random.default_rng().uniform(size=200)**3
    found = find_claim(claim, None, None)
    exact = (type_two_error(claim, errors) if found.event is not None else
             np.maximum(0, np.maximum(0.999 - np.e * errors, (0.999 - errors) / np.e)))
    assert np.all(found.type_two_error(errors) <= exact + 1e-15)
    np.testing.assert_allclose(found.type_two_error(errors), exact, atol=2e-3)


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


def make_broken():
    """Return an estimator without noise, for the command line."""
    return NoisyTotal(noise=0.0)


def make_clean():
    """Return an estimator that keeps its claim."""
    return NoisyTotal()


def make_constant():
    """Return an estimator that learns nothing."""
    return Normalizer()


def make_refusing():
    """Return an estimator that refuses every table."""
    return IsotonicRegression(increasing="neither")


def make_error():
    """End with an error."""
    raise RuntimeError("no model today")


def make_exit():
    """End the process, as if all were well."""
    sys.exit(0)


class Exiting(NoisyTotal):
    """Ends the process in a fit."""

    def fit(self, X, y=None):
        sys.exit(1)


class Leaving(NoisyTotal):
    """Ends the process in a fit, as if all were well."""

    def fit(self, X, y=None):
        os._exit(0)


class LeavingLast(NoisyTotal):
    """Publishes a row, and ends the process as if all were well when it exits."""

    def fit(self, X, y=None):
        atexit.register(os._exit, 0)
        self.row_ = np.array(X)[0]
        return super().fit(X)


def make_with_letters():
    """Return an estimator whose name has letters that ASCII does not have."""
    return type("Modèle☃", (NoisyTotal,), {})()


@pytest.mark.parametrize(("factory", "claim", "status", "verdict"), [
    ("make_broken", ["1", "0"], 1, "refuted"), ("make_clean", ["1", "0"], 0, "not refuted"),
    ("make_broken", ["60", "0.5"], 3, "nothing tested"),
    ("make_constant", ["1", "0"], 3, "nothing tested")])
def test_the_command_line_exits_by_the_verdict(factory, claim, status, verdict, tmp_path, capsys):
    """False-alarm rate at most 1e-7."""
    file = tmp_path / "found.json"
    assert main([f"tests.auditing.test_audit:{factory}", "--runs", "80", "--json", str(file),
                 "--level", "1e-7", "--quiet", "--claim", *claim]) == status
    found = json.loads(file.read_text())
    assert found["verdict"] == verdict and found["refuted"] == (status == 1)
    assert verdict.upper() in capsys.readouterr().out.upper()


@pytest.mark.parametrize("event", [Gaussian(1.0), SampledGaussian(0.1, 2.0)], ids=str)
def test_the_curve_of_a_claim_is_that_of_its_event_and_nowhere_above_it(event):
    claim, errors = find_claim(event, None, None), np.linspace(0.0, 1.0, 201)
    np.testing.assert_allclose(claim.type_two_error(errors), type_two_error(event, errors),
                               rtol=1e-9, atol=1e-12)
    between = np.random.default_rng(0).random(500)
    found, exact = claim.type_two_error(between), type_two_error(event, between)
    assert (found <= exact + 1e-12).all() and (found >= exact - 2e-3).all()


def test_every_option_of_the_command_line_reaches_the_audit(monkeypatch, capsys):
    given = {}

    def recorded(estimator, **options):
        given.update(options)
        return SimpleNamespace(verdict="not refuted", to_json=lambda: "{}")

    monkeypatch.setattr(sys.modules[main.__module__], "audit", recorded)
    options = {"claim": ["2.5", "0.125"], "runs": ["81"], "level": ["0.03125"], "n-jobs": ["3"]}
    with pytest.raises(SystemExit):
        main(["--help"])
    offered = set(re.findall(r"--([a-z-]+)", capsys.readouterr().out))
    assert offered - {"help", "json", "quiet"} == set(options)
    words = [word for name, values in options.items() for word in (f"--{name}", *values)]
    assert main([f"{__name__}:make_clean", "--quiet", *words]) == 0
    assert given == {"claim": [2.5, 0.125], "runs": 81, "level": 0.03125, "n_jobs": 3,
                     "progress": False}


@pytest.mark.parametrize("factory", ["make_refusing", "make_error", "make_exit", "Exiting"])
def test_the_command_line_says_that_nothing_was_tested_where_an_audit_ends_early(factory, capsys):
    assert main([f"tests.auditing.test_audit:{factory}", "--claim", "1", "0", "--quiet"]) == 3
    assert "nothing tested" in capsys.readouterr().err


def _by_command(*arguments, factory="make_with_letters", **where):
    command = [sys.executable, "-m", "dpsk.audit", f"{__name__}:{factory}", "--claim",
               "1", "0", "--runs", "80", "--level", "1e-7", "--quiet", *arguments]
    return subprocess.run(command, check=False, **where)


def test_a_verdict_arrives_whatever_the_encoding_of_the_output():
    """False-alarm rate at most 1e-7."""
    ended = _by_command(capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 0 and b"Mod\\xe8le\\u2603" in ended.stdout


@pytest.mark.parametrize(("factory", "status"), [("Leaving", 3), ("LeavingLast", 1)])
def test_a_fit_that_ends_the_process_changes_no_status(factory, status):
    assert _by_command(factory=factory, capture_output=True).returncode == status


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_output_that_cannot_be_written_is_no_verdict():
    with open("/dev/full", "w") as full:
        assert _by_command(stdout=full, stderr=full).returncode == 3


def test_a_file_that_cannot_be_written_is_refused_before_the_audit(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["tests.auditing.test_audit:make_error", "--json", str(tmp_path)])
    assert ended.value.code == 2 and "--json" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nothing", "no_such_module:make", "dpsk.audit:make"])
def test_the_command_line_says_what_a_factory_must_be(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name])
    assert ended.value.code == 2 and name in capsys.readouterr().err


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

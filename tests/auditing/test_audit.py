"""Audits find faults, and leave what is right alone."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dpsk import (
    DPPCA,
    DPGridSearchCV,
    DPLogisticRegression,
    DPRidge,
    make_dp_pipeline,
)
from dpsk.auditing import audit
from dpsk.testing import NoiseSeed
from tests.audits.faults import FAULTS, NoisyTotal

#: So rarely is a claim refuted that holds, where a test of every run says that it is not.
SURE = 5e-9
_PAIR = [tuple({"X": np.array([[entry], [0.0]])} for entry in (-1.0, 1.0))]
_SEEDED = DPLogisticRegression(random_state=NoiseSeed(0))


@pytest.mark.covering(most=1)
@pytest.mark.parametrize("name", ["exact scaler", "noise on half of the coordinates"])
def test_what_has_no_noise_is_found_in_a_moment(name):
    """Found in the first round, of 40 fits on either table, unless they agree by chance."""
    found = audit(FAULTS[name][0], runs=40, random_state=0)
    assert found.refuted and found.epsilon_lower > found.claim.epsilon
    assert "REFUTED" in str(found) and "REFUTED" in found._repr_html_()


@pytest.mark.thorough
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


@pytest.mark.thorough
@pytest.mark.parametrize(("noise", "refuted"), [(0.0, True), (1 / 3, True), (1.0, False)])
def test_estimators_of_others_are_audited_by_their_parameters(noise, refuted):
    """Misses and false alarms both have probability below 1e-8: a third of the noise is epsilon 3,
    and 1500 runs show 1.3 of it at the least."""
    found = audit(NoisyTotal(noise=noise), runs=1500, level=SURE, neighbors=_PAIR)
    assert found.refuted is refuted
    assert (found.claim.epsilon, found.claim.delta, found.claim.event) == (1.0, 0.0, None)


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


@pytest.mark.thorough
def test_progress_is_told_and_processes_are_used():
    told, pair = [], tuple({"X": np.full((4, 1), entry)} for entry in (-2.0, -1.0))
    found = audit(NoisyTotal(), neighbors=[pair], runs=40, n_jobs=2, level=SURE,
                  progress=lambda made, text: told.append((made, text)))
    assert told[-1][0] == found.fits and "of 40" in told[-1][1]


@pytest.mark.thorough
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
    first, last = clean.plot().ax_.get_title().split(" of epsilon ")
    assert first == "not refuted; randomized response" and last.endswith(" would be")
    # Rounded up.
    assert 0.0 <= float(last.split()[0]) / clean.power.refutes_from - 1.0 < 0.01
    nothing = audit(Normalizer(), claim=1.0, runs=40)
    assert nothing.plot().ax_.get_title() == "nothing tested"
    plt.close("all")

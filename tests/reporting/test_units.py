"""Guarantees for rows and for groups of rows do not add up to one for either."""

import json
import math

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection

from dpsk import DPLogisticRegression, DPTableVectorizer, privacy_report
from tests.events import GROUP_RELATION, RELATION

pytestmark = pytest.mark.filterwarnings("ignore")

DELTA, N = 1e-6, 200
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
Y = np.arange(N) % 2
GROUPS = np.arange(N) // 4


def model():
    return DPLogisticRegression(epsilon=0.5, delta=DELTA, solver="gd", max_iter=2, data_norm=2.0,
                                classes=[0, 1])


def of_rows():
    return model().fit(X, Y)


def of_groups():
    return model().fit(X, Y, groups=GROUPS)


def declared_table():
    """Return a step that knows all from its parameters, and so releases nothing."""
    words = np.array([["a"], ["b"]] * (N // 2), dtype=object)
    return DPTableVectorizer(columns={0: ["a", "b"]}, delta=DELTA).fit(words)


@pytest.mark.parametrize("together", [
    lambda parts: parts, lambda parts: dict(zip("ab", parts, strict=True)),
    lambda parts: [privacy_report(parts[:1]), parts[1]],
    lambda parts: [part.privacy_ for part in parts]], ids=["list", "dict", "reports", "bare"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_rows_and_groups_have_no_guarantee_in_common(together, disjoint):
    report = privacy_report(together([of_rows(), of_groups()]), disjoint=disjoint)
    assert not report.is_private
    assert report.epsilon == report.fits_epsilon == report.epsilon_at(0.1) == math.inf
    assert report.delta_at(5.0) == 1.0
    assert "do not add up" in report.guarantee
    assert "in one row" not in str(report) + report.model_card()
    assert json.loads(report.to_json())["epsilon"] == "inf"


def test_as_certificates_refuse_to_be_added():
    with pytest.raises(ValueError, match="do not add up"):
        of_rows().privacy_ + of_groups().privacy_


def test_fits_of_one_unit_keep_it():
    assert privacy_report([of_rows()] * 2).relation == RELATION
    report = privacy_report([of_groups(), of_groups()])
    assert report.relation == GROUP_RELATION
    assert report.is_private


def test_what_releases_nothing_has_no_unit():
    table = declared_table()
    assert table.privacy_.delta_at(0.0) == 0.0
    for parts in ([table, of_groups()], [of_groups(), table], {"a": [table], "b": of_groups()},
                  make_pipeline(table, of_groups())):
        report = privacy_report(parts)
        assert report.relation == GROUP_RELATION
        assert report.is_private
    assert privacy_report([table, of_rows()]).relation == RELATION
    assert privacy_report(table).relation == RELATION


def test_a_member_of_another_unit_is_found_in_an_ensemble():
    voting = VotingClassifier([("a", model()), ("b", model())]).fit(X, Y)
    voting.estimators_[1] = of_groups()
    assert "do not add up" in privacy_report(voting).guarantee


def test_how_many_rows_there_are_is_private_beside_groups_alone():
    wide, few = np.tile(X, 100), GaussianRandomProjection(5)
    auto = GaussianRandomProjection(eps=0.9)
    for step, of_whole_groups in ((auto, False), (few, True), (FrozenEstimator(
            auto.fit(wide)), True)):
        pipe = make_pipeline(step, model())
        assert privacy_report(pipe.fit(wide, Y)).is_private
        report = privacy_report(pipe.fit(wide, Y, dplogisticregression__groups=GROUPS))
        assert report.is_private == of_whole_groups
        assert report.is_counted and report.relation == GROUP_RELATION
    bags = BaggingClassifier(model(), 2, bootstrap=False).fit(X, Y)
    assert privacy_report(bags).is_private
    bags.estimators_ = [of_groups(), of_groups()]
    assert "bags are drawn by rows" in privacy_report(bags).exposed[0].sentence

"""The estimators of saddle problems fit, certify what they did, and predict."""

import numpy as np
import pytest
from scipy.stats import rankdata

from dpsk._privacy.accountant import delta
from dpsk.ranking import DPAUCMaximizer
from dpsk.robust import DPGroupDROClassifier

SOLVERS = pytest.mark.parametrize("solver", ["sgda", "privatediff"])


def rows(n=2000, seed=0):
    """Rows of which a fifth are positive, with groups that the label has nothing to do with."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    X = 0.3 * rng.normal(size=(n, 4))
    X[:, 0] += 0.6 * y
    return X, y, rng.integers(2, size=n)


def area(scores, y):
    ranks = rankdata(scores)
    positive = y.sum()
    return (ranks[y == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(y) - positive))


@SOLVERS
@pytest.mark.parametrize("ratio", [None, 0.2])
def test_scores_rank_positive_rows_higher(solver, ratio):
    X, y, _ = rows()
    model = DPAUCMaximizer(8.0, loss="auc", solver=solver, positive_ratio=ratio,
                           random_state=0).fit(X, y)
    assert area(model.decision_function(X), y) > 0.8
    assert set(model.predict(X)) <= {0, 1}
    certificate = model.privacy_
    assert delta(certificate.event, 8.0) <= certificate.delta
    assert {"clip_norm", "dual_clip_norm"} <= {bound.name for bound in certificate.enforced}


def test_a_network_scores_as_well():
    X, y, _ = rows()
    model = DPAUCMaximizer(8.0, loss="auc", solver="sgda", hidden_layer_sizes=(8,),
                           max_iter=60, random_state=0).fit(X, y)
    assert area(model.decision_function(X), y) > 0.7


@SOLVERS
def test_group_weights_are_released_and_on_the_simplex(solver):
    X, y, groups = rows()
    model = DPGroupDROClassifier(8.0, solver=solver, random_state=0).fit(X, y, groups=groups)
    assert model.group_weights_.min() >= 0
    assert model.group_weights_.sum() == pytest.approx(1)
    assert delta(model.privacy_.event, 8.0) <= model.privacy_.delta
    assert set(model.predict(X)) <= {0, 1}


def test_without_groups_they_are_the_classes():
    X, y, _ = rows(n=200)
    model = DPGroupDROClassifier(8.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.groups_, model.classes_)

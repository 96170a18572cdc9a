"""The estimators of saddle problems rank, weight groups, and say what they did."""

import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import DPAUCMaximizer, DPGroupDROClassifier, DPLogisticRegression
from dpsk.accounting import delta
from dpsk.testing import NoiseSeed
from tests.events import tally
from tests.registry import every_fit_with_groups

SOLVERS = pytest.mark.parametrize("solver", ["sgda", "privatediff"])
NETWORK = {"loss": "auc", "hidden_layer_sizes": (8,), "max_iter": 60}


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
                           random_state=NoiseSeed(0)).fit(X, y)
    assert area(model.decision_function(X), y) > 0.8
    assert set(model.predict(X)) <= {0, 1}
    certificate = model.privacy_
    assert delta(certificate.event, 8.0) <= certificate.delta
    assert {"clip_norm", "dual_clip_norm"} <= {bound.name for bound in certificate.enforced}


@pytest.mark.filterwarnings("ignore:epsilon=inf")
@pytest.mark.parametrize("cls, params", [(DPAUCMaximizer, {"loss": "auc"}),
                                         (DPGroupDROClassifier, {})])
def test_without_noise_units_of_features_do_not_matter(cls, params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    score, units = X @ np.array([1.0, -1.0, 0.5, 0.0]), 10.0 ** np.array([0.0, 3.0, -2.0, 4.0])
    rows = (X + 1.0) * units
    model = cls(np.inf, **params).fit(rows, score > 0)
    found = model.decision_function(rows)
    np.testing.assert_allclose(found, rows @ model.coef_[0] + model.intercept_
                               - getattr(model, "offset_", 0.0), atol=1e-5)
    assert np.corrcoef(found, score)[0, 1] > 0.97


@SOLVERS
def test_weights_decide_which_rows_are_ranked(solver):
    """Half of the rows rank by one feature, half by another; the weights say which half counts."""
    rng = np.random.default_rng(0)
    y, half = rng.integers(2, size=3000), np.arange(3000) % 2
    X = 0.1 * rng.normal(size=(3000, 2))
    X[np.arange(3000), half] += np.where(half == 0, 0.5, -0.5) * (2 * y - 1)
    X[np.arange(3000), 1 - half] -= np.where(half == 0, -0.5, 0.5) * (2 * y - 1)
    for favored in (0, 1):
        model = DPAUCMaximizer(20.0, loss="auc", solver=solver).fit(
            X, y, sample_weight=np.where(half == favored, 1.0, 0.01))
        chosen = half == favored
        found = area(model.decision_function(X)[chosen], y[chosen])
        print(f"{solver}: {found:.3f}")
        assert found > 0.9


def test_the_ratio_is_declared_and_free_or_released_and_paid():
    X, y, _ = rows(n=500)
    free = DPAUCMaximizer(loss="auc", positive_ratio=0.2).fit(X, y)
    paid = DPAUCMaximizer(loss="auc").fit(X, y)
    assert free.positive_ratio_ == 0.2 and "positive_ratio_" not in free.privacy_.released
    assert 0.01 <= paid.positive_ratio_ <= 0.99 and "positive_ratio_" in paid.privacy_.released
    assert sum(tally(paid.privacy_.event).values()) == sum(tally(free.privacy_.event).values()) + 1
    assert free.privacy_.noise_multiplier < paid.privacy_.noise_multiplier
    plain = DPAUCMaximizer().fit(X, y)
    assert plain.positive_ratio_ is None and plain.offset_ == 0.0
    assert "offset_" not in plain.privacy_.released


@pytest.mark.parametrize("cls", [DPAUCMaximizer, DPGroupDROClassifier])
def test_there_are_no_probabilities(cls):
    X, y, _ = rows(n=200)
    for model in (cls(), cls(solver="sgda").fit(X, y)):
        assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")


@pytest.mark.parametrize("solver", ["sgda", "privatediff", "sgd", "gd"])
def test_a_network_scores_as_well(solver):
    X, y, _ = rows()
    loss = "auc" if solver in ("sgda", "privatediff") else "logistic"
    model = DPAUCMaximizer(8.0, **{**NETWORK, "loss": loss}, solver=solver,
                           random_state=NoiseSeed(0))
    found = area(model.fit(X, y).decision_function(X), y)
    print(f"{solver}: {found:.3f}")
    assert found > 0.7
    certificate = model.privacy_
    assert delta(certificate.event, 8.0) <= certificate.delta and certificate.solver == solver
    assert {"coefs_", "intercepts_"} <= set(certificate.released)


@pytest.mark.parametrize("solver", ["sgda", "privatediff"])
def test_what_a_network_predicts_follows_from_what_it_released(solver):
    X, y, _ = rows(n=300)
    for dtype in (np.float32, np.float64):
        part = X.astype(dtype)
        model = DPAUCMaximizer(**NETWORK, solver=solver).fit(part, y)
        assert {array.dtype for array in model.coefs_} == {np.dtype(np.float32)}
        scores = model.decision_function(part)
        assert scores.dtype == dtype
        scaled = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
        hidden = np.maximum(scaled @ model.coefs_[0] + model.intercepts_[0], 0.0)
        expected = (hidden @ model.coefs_[1] + model.intercepts_[1])[:, 0] - model.offset_
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.decision_function(part), scores)
        assert again.privacy_ == model.privacy_
        # No score depends on the rows beside it by more than the rounding of a product.
        np.testing.assert_allclose(model.decision_function(part[7:8]), scores[7:8], rtol=1e-6,
                                   atol=1e-12)


@pytest.mark.parametrize("solver", ["sgda", "privatediff"])
@pytest.mark.parametrize("row", [1e30, 1e-30, 0.0, np.finfo(float).max])
def test_extreme_rows_leave_a_network_finite_and_its_certificate_alone(solver, row):
    X, y, _ = rows(n=200)
    model = DPAUCMaximizer(**NETWORK, solver=solver, batch_size=50, learning_rate=0.1)
    plain = clone(model).fit(X, y).privacy_
    X[:3] = row
    model.fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert model.privacy_.event == plain.event and model.privacy_.enforced == plain.enforced


def test_auto_takes_the_logistic_loss_unless_a_solver_of_saddle_problems_is_named():
    X, y, _ = rows(n=200)
    for hidden, solver in (((), "gd"), ((4,), "sgd")):
        model = DPAUCMaximizer(hidden_layer_sizes=hidden, max_iter=3).fit(X, y)
        assert model.positive_ratio_ is None and model.privacy_.solver == solver
        model.set_params(solver="sgda").fit(X, y)
        assert model.positive_ratio_ is not None


def test_a_fitted_network_predicts_whatever_layers_are_asked_for_later():
    X, y, _ = rows(n=200)
    model = DPAUCMaximizer(hidden_layer_sizes=(8,), max_iter=3).fit(X, y)
    scores = model.decision_function(X)
    for hidden in ((), (16, 4)):
        np.testing.assert_array_equal(
            model.set_params(hidden_layer_sizes=hidden).decision_function(X), scores)


def test_a_network_refuses_what_is_for_linear_scores():
    X, y, _ = rows(n=60)
    with pytest.raises(ValueError, match="penalty='simplex'"):
        DPAUCMaximizer(**NETWORK, penalty="simplex", radius=2.0).fit(X, y)
    with pytest.raises(ValueError, match="data_norm_inf"):
        DPAUCMaximizer(**NETWORK, data_norm_inf=0.5).fit(X, y)
    with pytest.raises(ValueError, match="dense"):
        DPAUCMaximizer(**NETWORK).fit(sp.csr_matrix(X), y)
    assert not DPAUCMaximizer(**NETWORK).__sklearn_tags__().input_tags.sparse
    assert DPAUCMaximizer().__sklearn_tags__().input_tags.sparse


def test_a_fit_of_another_kind_leaves_nothing_of_the_one_before():
    X, y, _ = rows(n=60)
    model = DPAUCMaximizer(max_iter=3).fit(X, y)
    model.set_params(hidden_layer_sizes=3).fit(X, y)
    assert not hasattr(model, "coef_") and len(model.coefs_) == 2
    model.set_params(hidden_layer_sizes=()).fit(X, y)
    assert not hasattr(model, "coefs_") and model.coef_.shape == (1, 4)


@pytest.mark.parametrize("groups, message", [
    (np.zeros((60, 2)), r"groups of shape \(60, 2\)"), (np.zeros(59), "groups of length 59"),
    (np.r_[np.nan, np.arange(59.0)], "groups contains NaN"),
    (np.zeros(()), r"groups of shape \(\)")])
def test_groups_that_are_no_labels_are_refused_by_name(groups, message):
    X, y, _ = rows(n=60)
    with pytest.raises(ValueError, match=message):
        DPGroupDROClassifier().fit(X, y, groups=groups)


@SOLVERS
def test_group_weights_are_released_and_on_the_simplex(solver):
    X, y, groups = rows()
    model = DPGroupDROClassifier(8.0, solver=solver, random_state=NoiseSeed(0))
    model.fit(X, y, groups=groups)
    assert model.group_weights_.min() >= 0
    assert model.group_weights_.sum() == pytest.approx(1)
    assert delta(model.privacy_.event, 8.0) <= model.privacy_.delta
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("solver, gain, least", [("sgda", 0.1, 0.45), ("privatediff", 0.0, 0.2)])
def test_the_group_of_greater_risk_gets_more_weight_and_a_better_score(solver, gain, least):
    """In a small group, a tenth of the rows, the label follows another feature.

    Ten deviations and more over fits lie between each bar and its mean.
    """
    rng = np.random.default_rng(0)
    n = 6000
    X, groups = rng.uniform(-0.5, 0.5, size=(n, 2)), (np.arange(n) % 10 == 0).astype(int)
    y = (X[np.arange(n), groups] > 0).astype(int)
    model = DPGroupDROClassifier(20.0, solver=solver).fit(X, y, groups=groups)
    plain = DPLogisticRegression(20.0).fit(X, y)
    rare = groups == 1
    found, before = (one.score(X[rare], y[rare]) for one in (model, plain))
    print(f"{solver}: {before:.3f} -> {found:.3f}, weights {model.group_weights_}")
    assert model.group_weights_[1] > least and found > before + gain


def test_without_groups_they_are_the_classes():
    X, y, _ = rows(n=200)
    model = DPGroupDROClassifier(8.0, random_state=NoiseSeed(0)).fit(X, y)
    np.testing.assert_array_equal(model.groups_, model.classes_)
    said = " ".join(model.privacy_.public)
    assert "2 group labels (taken from y)" in said
    declared = DPGroupDROClassifier(8.0, classes=[0, 1]).fit(X, y)
    assert "2 group labels (declared)" in " ".join(declared.privacy_.public)


@every_fit_with_groups
def test_groups_are_taken_as_public_where_they_are_not_declared(cls, solver):
    X, y, groups = rows(n=200)
    names = np.array(["north", "south"])[groups]
    model = cls(solver=solver, max_iter=3).fit(X, y, groups=names)
    assert list(model.groups_) == ["north", "south"]
    assert "2 group labels (taken from groups)" in " ".join(model.privacy_.public)
    # A group that is declared need not occur, and may be of one row.
    model = cls(solver=solver, max_iter=3, group_labels=["north", "south", "west"])
    model.fit(X, y, groups=names)
    assert "3 group labels (declared)" in " ".join(model.privacy_.public)
    assert model.group_weights_.shape == model.group_shares_.shape == (3,)
    assert model.group_shares_.min() >= 0.01 * (1 - 1e-9)
    assert model.group_shares_.sum() == pytest.approx(1)


def test_declared_shares_are_free_and_counted_ones_are_paid():
    X, y, groups = rows(n=500)
    free = DPGroupDROClassifier(group_shares={0: 1.0, 1: 1.0}).fit(X, y, groups=groups)
    paid = DPGroupDROClassifier().fit(X, y, groups=groups)
    np.testing.assert_array_equal(free.group_shares_, [0.5, 0.5])
    assert "group_shares_" in paid.privacy_.released
    assert "group_shares_" not in free.privacy_.released
    assert free.privacy_.noise_multiplier < paid.privacy_.noise_multiplier


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def _seen_groups(monkeypatch):
    """Return a list to which fits add the groups that reached them."""
    seen, fit = [], DPGroupDROClassifier.fit

    def recorded(self, X, y, sample_weight=None, *, groups=None):
        seen.append(None if groups is None else np.array(groups))
        return fit(self, X, y, sample_weight, groups=groups)

    monkeypatch.setattr(DPGroupDROClassifier, "fit", recorded)
    return seen


def test_groups_travel_through_a_pipeline(routing, monkeypatch):
    X, y, groups = rows(n=200)
    seen = _seen_groups(monkeypatch)
    model = DPGroupDROClassifier(max_iter=3, group_labels=[0, 1]).set_fit_request(groups=True)
    halve = FunctionTransformer(lambda part: part / 2)
    pipeline = make_pipeline(halve, model).fit(X, y, groups=groups)
    np.testing.assert_array_equal(seen[0], groups)
    assert pipeline.predict(X).shape == y.shape
    assert pipeline[-1].group_weights_.shape == (2,)


def test_groups_travel_through_a_search_over_a_pipeline(routing, monkeypatch):
    X, y, groups = rows(n=200)
    seen = _seen_groups(monkeypatch)
    model = DPGroupDROClassifier(max_iter=3, group_labels=[0, 1]).set_fit_request(groups=True)
    pipeline = make_pipeline(FunctionTransformer(), model)
    search = GridSearchCV(pipeline, {"dpgroupdroclassifier__epsilon": [0.5, 5.0]}, cv=2)
    search.fit(X, y, groups=groups)
    # Every fold got its own part, the last fit all of them.
    assert [len(part) for part in seen] == [100] * 4 + [200]
    np.testing.assert_array_equal(seen[-1], groups)
    assert sorted(np.concatenate(seen[:2])) == sorted(groups)
    assert search.best_estimator_[-1].privacy_.epsilon in (0.5, 5.0)
    scores = cross_val_score(pipeline, X, y, cv=3, params={"groups": groups})
    assert np.all(np.isfinite(scores))


def test_groups_that_were_not_asked_for_are_refused_rather_than_lost(routing):
    X, y, groups = rows(n=200)
    pipeline = make_pipeline(FunctionTransformer(), DPGroupDROClassifier(max_iter=3))
    with pytest.raises(Exception, match=r"\[groups\].*not explicitly set"):
        pipeline.fit(X, y, groups=groups)


def test_a_request_survives_cloning_and_storing(routing, tmp_path):
    model = DPGroupDROClassifier().set_fit_request(groups=True, sample_weight=False)
    joblib.dump(model, tmp_path / "model.joblib")
    for one in (clone(model), joblib.load(tmp_path / "model.joblib")):
        assert one.get_metadata_routing().fit.requests == {"groups": True, "sample_weight": False}


def test_a_ratio_is_refused_where_nothing_uses_it():
    X, y, _ = rows(n=60)
    for params in ({}, {"loss": "logistic"}, {"solver": "gd"}):
        with pytest.raises(ValueError, match=r"positive_ratio=0\.2"):
            DPAUCMaximizer(positive_ratio=0.2, **params).fit(X, y)


@pytest.mark.parametrize("make", [
    lambda alpha, solver: DPGroupDROClassifier(8.0, alpha=alpha, solver=solver),
    lambda alpha, solver: DPAUCMaximizer(8.0, loss="auc", alpha=alpha, solver=solver)])
@SOLVERS
def test_a_strong_penalty_shrinks_instead_of_diverging(make, solver):
    X, y, _ = rows(n=2000)
    sizes = [np.abs(make(alpha, solver).fit(X, y).coef_).max() for alpha in (0.1, 10.0, 1000.0)]
    assert np.all(np.isfinite(sizes)) and sizes[2] < 0.1 and sizes[1] < 3.0


def test_a_strong_group_penalty_makes_weights_equal():
    X, y, groups = rows(n=2000)
    for penalty in (100.0, 1e10):
        model = DPGroupDROClassifier(8.0, group_penalty=penalty,
                                     solver_options={"iterate": "last"}).fit(X, y, groups=groups)
        share = 1.0 / len(model.groups_)
        np.testing.assert_allclose(model.group_weights_, share, atol=0.1)


def test_groups_that_never_arrived_are_noticed():
    """A search without metadata routing gives `groups` to its splitter only."""
    X, y, _ = rows(n=60)
    with pytest.raises(ValueError, match="set_fit_request"):
        DPGroupDROClassifier(group_labels=["a", "b"]).fit(X, y)
    # Declared classes are what stands in for groups.
    DPGroupDROClassifier(group_labels=[0, 1]).fit(X, y)


def test_another_kind_of_score_set_after_the_fit_changes_no_prediction():
    X, y, _ = rows(n=60)
    model = DPAUCMaximizer(max_iter=3).fit(X, y)
    before = model.decision_function(X)
    model.set_params(hidden_layer_sizes=(4,))
    np.testing.assert_array_equal(model.decision_function(X), before)

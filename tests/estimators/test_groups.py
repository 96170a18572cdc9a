"""Fits that protect groups of rows: G in the place of n, refusals before any draw, routing."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpsk import (
    DPLinearRegression,
    DPLogisticRegression,
    DPMLPClassifier,
    PrivacyBudget,
)
from dpsk.exceptions import BudgetExceededError, PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import GROUP_RELATION
from tests.registry import declared, every_protector_of_groups, is_linear

G = 40
#: Settings that are fast, and reach every release that groups may have.
SETTINGS = {"gd": {"solver": "gd", "max_iter": 5},
            "sgd": {"solver": "sgd", "max_iter": 5, "batch_size": 10},
            "mapped": {"solver": "gd", "max_iter": 4, "precondition": "whitening"}}
every_setting = pytest.mark.parametrize("setting", sorted(SETTINGS))


class Source:
    n = n_features = 2

    def blocks(self):
        yield np.eye(2), np.array([0, 1])


def rows(sizes=None, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    sizes = np.resize([1, 3, 6, 2], G) if sizes is None else sizes
    n = int(np.sum(sizes))
    X = scale * rng.normal(size=(n, 4))
    y = (rng.random(n) < 0.5).astype(int)
    y[:2] = 0, 1
    return X, y, np.repeat(np.arange(len(sizes)), sizes)


def make(cls, setting="gd", **params):
    params = {**declared(cls), **SETTINGS[setting], **params}
    if is_linear(cls):
        params = {"data_norm": 2.0, **params}
    else:
        params["hidden_layer_sizes"] = (5,)
    return cls(**{"epsilon": 1.0, "delta": 1e-4, **params})


@every_protector_of_groups
def test_the_certificate_is_that_of_groups_and_leaves_the_number_of_rows_out(cls):
    X, y, groups = rows(np.full(G, 7))
    model = make(cls, delta=None)
    model.fit(X, y, groups=groups)
    certificate = model.privacy_
    assert certificate.relation == GROUP_RELATION and certificate.delta == 1.0 / G**2
    assert any("number of groups" in fact for fact in certificate.public)
    assert "groups" in {bound.name for bound in certificate.enforced}
    assert type(certificate).from_json(certificate.to_json()).verify() == certificate
    assert not any(attribute.startswith("group") for attribute in vars(model))


@pytest.mark.covering
@every_setting
@every_protector_of_groups
def test_all_that_a_fit_shows_follows_from_its_releases(cls, setting, capsys):
    """Replayed on tables of as many groups and another number of rows."""

    def shown(table, answers=None):
        model = make(cls, setting, verbose=1, random_state=0)
        with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
            warnings.simplefilter("always")
            X, y, groups = table
            model.fit(X, y, groups=groups)
        faces = {name: pickle.dumps(value) for name, value in vars(model).items()}
        return {**faces, "printed": capsys.readouterr().out, "public": tape.public,
                "events": tape.events, "warned": [str(one.message) for one in warned]}, tape

    faces, tape = shown(rows())
    assert tape.answers
    huge = 1e200 if is_linear(cls) else 1e30
    for other in (rows(np.resize([5, 1, 1, 40], G), 1), rows(np.ones(G, int), 2, huge),
                  rows(np.append(np.ones(G - 1, int), 5000), 3, 0.0)):
        again, _ = shown(other, tape.answers)
        assert [name for name in faces if faces[name] != again[name]] == []


def test_the_noise_is_that_of_as_many_rows():
    X, y, groups = rows()
    for setting in SETTINGS:
        own = make(DPLogisticRegression, setting).fit(X, y, groups=groups).privacy_
        other = make(DPLogisticRegression, setting).fit(X[:G], y[:G]).privacy_
        assert own.event == other.event and own.noise_multiplier == other.noise_multiplier
        assert own.relation != other.relation


def test_another_grouping_is_never_answered_with_the_same_noise():
    """Sums under the same noise, of groups in other company, would give their difference away."""
    X, y, groups = rows()
    swapped = groups.copy()
    swapped[0], swapped[1] = groups[1], groups[0]
    apart = groups.copy()
    apart[groups == 2] = np.resize([2, G], (groups == 2).sum())
    tables = [groups, swapped, apart]
    noise = []
    for labels in tables:
        with taped() as tape:
            make(DPLogisticRegression, random_state=NoiseSeed(5)).fit(X, y, groups=labels)
        noise.append(np.concatenate([np.ravel(one) for part in tape.noise for one in part]))
    assert not any(np.array_equal(noise[0], other) for other in noise[1:])


def test_without_noise_the_objective_is_the_mean_over_groups_of_means():
    X, y, groups = rows(scale=0.3)
    sizes = np.bincount(groups)[groups]
    with pytest.warns(PrivacyWarning, match="no noise"):
        model = DPLogisticRegression(epsilon=np.inf, alpha=0.1).fit(X, y, groups=groups)
    from sklearn.linear_model import LogisticRegression
    other = LogisticRegression(C=1.0 / (0.1 * G), tol=1e-10, max_iter=1000)
    other.fit(X, y, sample_weight=1.0 / sizes)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4)


@pytest.mark.parametrize("params, given, message", [
    ({"solver": "output_perturbation", "alpha": 0.1}, {}, "groups: solver='output_perturbation'"),
    ({"solver": "last_iterate", "alpha": 0.1}, {}, "groups: solver='last_iterate'"),
    ({"solver": "objective_perturbation", "alpha": 0.1}, {}, "groups: solver='objective"),
    ({"solver": "newton"}, {}, "groups: solver='newton'"),
    ({"solver": "svrg"}, {}, "groups: solver='svrg'"),
    ({"solver": "stgd"}, {}, "groups: solver='stgd'"),
    ({"solver": "frank_wolfe", "penalty": "l1_ball", "radius": 1.0}, {}, "groups: solver='frank"),
    ({"data_norm": None, "solver": "gd", "epsilon": 0.01}, {}, "data_norm=None: n="),
    ({}, {"groups": np.zeros(130)}, "one group alone"),
    ({}, {"groups": np.arange(3)}, r"groups of shape \(3,\)")])
def test_what_cannot_protect_groups_is_refused_before_any_draw(params, given, message, silent):
    X, y, groups = rows(np.resize([1, 3, 6, 3], G))
    with pytest.raises(ValueError, match=message):
        DPLogisticRegression(**{"data_norm": 1.0, **params}).fit(
            X[:130], y[:130], **{"groups": groups[:130], **given})


@pytest.mark.parametrize("cls, given, message", [
    (DPLogisticRegression, None, "group_clip_norm=0.1: clips what groups of rows add; pass gr"),
    (DPMLPClassifier, "groups", "group_clip_norm=0.1: networks clip rows alone")])
def test_a_clip_of_groups_without_any_to_clip_is_refused_before_any_draw(
        cls, given, message, silent):
    X, y, groups = rows()
    model = make(cls, solver_options={"group_clip_norm": 0.1})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, groups=groups if given else None)


@pytest.mark.parametrize("clip", [0, -1.0, np.nan, "1", 1e-200, 1e101])
def test_a_clip_of_groups_has_the_range_of_that_of_rows(clip):
    X, y, groups = rows()
    with pytest.raises(ValueError, match=r"group_clip_norm=.*None, or a number in \[1e-10"):
        make(DPLogisticRegression, solver_options={"group_clip_norm": clip}).fit(
            X, y, groups=groups)


def test_bounds_are_learnt_from_one_row_of_each_person_at_the_price_of_as_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    y, groups = np.clip(20.0 + 5.0 * X[:, 0], 0.0, 40.0), np.arange(900) % 300
    # Of one person there are many more, who is far from all others.
    more = np.zeros(3000, int)
    X, y = np.r_[X, np.full((3000, 2), 1e6)], np.r_[y, np.full(3000, 1e6)]
    model = DPLinearRegression(30.0, random_state=0)
    many = clone(model).fit(X, y, groups=np.r_[groups, more])
    assert many.data_norm_ < 10.0 and 20.0 < many.target_bounds_[1] < 80.0
    assert any("by public randomness" in fact for fact in many.privacy_.public)
    alone = clone(model).fit(X[:300], y[:300], groups=np.arange(300))
    assert many.privacy_.event == alone.privacy_.event
    with pytest.raises(ValueError, match="target_bounds=None: n=300 rows"):
        clone(model).set_params(epsilon=0.01, target_bounds=None).fit(
            X, y, groups=np.r_[groups, more])


def test_sources_in_parts_have_no_groups():
    with pytest.raises(ValueError, match="rows in memory"):
        DPLogisticRegression(data_norm=1.0).fit(Source(), groups=[0, 1])


def test_few_groups_are_warned_of_however_many_rows_there_are():
    X, y, groups = rows([90, 80, 70])
    with pytest.warns(PrivacyWarning, match="is weak for n=3 groups"):
        make(DPLogisticRegression, delta=None).fit(X, y, groups=groups)


def test_a_budget_of_groups_admits_fits_with_groups_alone():
    X, y, groups = rows()
    model = make(DPMLPClassifier)
    with PrivacyBudget(2.0, 1e-3, unit="group") as budget:
        with pytest.raises(BudgetExceededError, match="protects single rows"):
            clone(model).fit(X, y)
        clone(model).fit(X, y, groups=groups)
    assert len(budget.charges) == 1


@pytest.mark.parametrize("cls", [DPLogisticRegression, DPMLPClassifier])
def test_groups_travel_by_metadata_routing(cls):
    X, y, groups = rows()
    with sklearn.config_context(enable_metadata_routing=True):
        model = make(cls).set_fit_request(groups=True)
        pipeline = make_pipeline(FunctionTransformer(), model).fit(X, y, groups=groups)
        assert pipeline[-1].privacy_.relation == GROUP_RELATION
        name = f"{cls.__name__.lower()}__epsilon"
        search = GridSearchCV(pipeline, {name: [0.5, 5.0]}, cv=GroupKFold(2))
        search.fit(X, y, groups=groups)
        assert search.best_estimator_[-1].privacy_.relation == GROUP_RELATION
        found = cross_validate(pipeline, X, y, cv=GroupKFold(2), params={"groups": groups},
                               return_estimator=True)
        assert all(fold[-1].privacy_.relation == GROUP_RELATION for fold in found["estimator"])

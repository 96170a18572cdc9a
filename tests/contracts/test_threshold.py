"""The threshold oracle compares, clips, noises and charges as its module says."""

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPHuberRegressor, DPLogisticRegression
from dpsk._data.norms import absolute_sums
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy import accountant
from dpsk._privacy.events import Composed, Gaussian, Pure, Repeated, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise import samplers
from dpsk._privacy.noise.streams import KeyedStream, random_permutation
from dpsk._queries import CheckedGradients
from dpsk._queries.holdout import ThresholdOracle
from dpsk._sums.linear_sums import float_sums
from dpsk.testing import NoiseSeed
from tests.contracts.units import assert_whole, unit_and_scale
from tests.registry import (
    every_loss,
    make_loss,
    make_model,
    make_problem,
    make_targets,
    training_rows,
)

_KEY = bytes(range(16))
_Z, _CLIP = 1.3, 0.3
kinds = pytest.mark.parametrize("pure", [False, True])


def opened(name="logistic", n=41, z=_Z, clip_norm=_CLIP, holdout=None, **declared):
    """Return an oracle, its declaration, its ledger, its rows and its stream's twin."""
    rng = np.random.default_rng(0)
    problem = make_problem(name, n_samples=n)
    rows = Rows(rng.normal(size=(n, 3)), make_targets(name, n, rng), holdout=holdout)
    plan = CheckedGradients(clip_norm, **{"rounds": 3, **declared})
    ledger = Ledger(plan(z))
    oracle = plan.run((problem, rows), Session(KeyedStream(_KEY), ledger), z)
    return oracle, plan, ledger, rows, KeyedStream(_KEY)


def sums(name, rows, piece, pure):
    return float_sums(make_model(name), make_loss(name), rows.subset(piece), _CLIP, 1 + (not pure))


@kinds
@every_loss
def test_answers_follow_the_definition(name, pure):
    oracle, _, _, rows, twin = opened(name, pure=pure)
    order, draw = random_permutation(twin, 41), (
        samplers.laplace if pure else samplers.standard_normal)
    own, other = (sums(name, rows, np.sort(order[i:i + 20]), pure) for i in (0, 20))
    fired = []
    for t in range(3):
        theta = np.full(own.model.shape, 0.7 * t)
        a, h = own.gradient(theta), other.gradient(theta)
        gap = np.abs(a - h) + 4 * _Z * _CLIP * draw(twin, theta.shape)
        fired.append(gap > 3 * _Z * _CLIP)
        expected = (np.where(fired[-1], a, h) + _Z * _CLIP * draw(twin, theta.shape)) / 20
        np.testing.assert_allclose(oracle.gradient(theta), expected, atol=1e-5)
    assert oracle.arithmetic == "grid"
    # Both branches were taken.
    assert 0 < np.mean(fired) < 1


@kinds
def test_public_rows_answer_without_noise_and_all_other_rows_train(pure):
    rng = np.random.default_rng(1)
    public = Rows(rng.normal(size=(11, 3)), make_targets("logistic", 11, rng))
    oracle, _, _, rows, _ = opened(pure=pure, holdout=public, public_holdout=True, rounds=600)
    theta = np.full(4, 0.3)
    exact = sums("logistic", public, np.arange(11), pure).gradient(theta) / 11
    own = sums("logistic", rows, np.arange(41), pure).gradient(theta) / 41
    answers = np.array([oracle.gradient(theta) for _ in range(600)])
    silent = np.isclose(answers, exact, atol=1e-7)
    assert 0.2 < silent.mean() < 0.95
    noise = (answers - own)[~silent] * 41 / (_Z * _CLIP)
    # 1 for normal noise and 1.4 for Laplace's, give or take .06.
    assert 0.5 < np.std(noise) < 2.0


@kinds
def test_the_declaration_is_what_a_row_pays(pure):
    kind = Pure if pure else Gaussian
    plan = CheckedGradients(1.0, 7, batches=5, pure=pure)
    assert plan(2.0) == Composed((Repeated(kind(0.25), 7), Repeated(kind(1.0), 7)))
    if pure:
        assert accountant.epsilon(plan(2.0), 0.0) == pytest.approx(7 * 1.25)
    else:
        assert accountant.merge(plan(2.0)).mu == pytest.approx(np.sqrt(7 * 17 / 16) * 1.0)


@kinds
@pytest.mark.parametrize("batches, n", [(1, 41), (4, 41), (5, 10), (1, 2)])
def test_each_batch_answers_its_share_and_not_once_more(pure, batches, n):
    oracle, plan, ledger, _, _ = opened(n=n, pure=pure, batches=batches)
    for asked in range(1, 3 * batches + 1):
        oracle.gradient(np.zeros(4))
        # One row pays for its own batch: never more than three rounds.
        paid = tally(ledger.spent)
        assert set(paid.values()) == {min(asked, 3)}
    assert tally(ledger.spent) == tally(plan(_Z))
    with pytest.raises(RuntimeError, match="plan"):
        oracle.gradient(np.zeros(4))


@kinds
@pytest.mark.parametrize("public", [False, True])
def test_no_row_is_in_two_parts_and_an_answer_reads_one_batch_only(pure, public, monkeypatch):
    taken = []
    subset = Rows.subset
    monkeypatch.setattr(Rows, "subset", lambda rows, at: taken.append(at) or subset(rows, at))
    holdout = Rows(np.ones((3, 3)), np.ones(3)) if public else None
    opened(n=43, pure=pure, batches=4, public_holdout=public, holdout=holdout)
    indices = np.concatenate(taken)
    assert len(set(indices.tolist())) == len(indices) == 40
    assert {len(piece) for piece in taken} == {10 if public else 5}


def test_a_ledger_charges_one_group_and_common_releases_together():
    ledger = Ledger(Repeated(Gaussian(0.5), 3))
    first, second = ledger.groups(2)
    first.charge(Gaussian(0.5), 2)
    second.charge(Gaussian(0.5))
    ledger.charge(Gaussian(0.5))
    assert tally(ledger.spent)[Gaussian(0.5)] == 3
    for charge in (first.charge, ledger.charge):
        with pytest.raises(RuntimeError, match="plan"):
            charge(Gaussian(0.5))
    # The second group's rows have one release left.
    second.charge(Gaussian(0.5))
    with pytest.raises(RuntimeError, match="plan"):
        second.charge(Gaussian(0.5))
    with pytest.raises(RuntimeError, match="plan"):
        first.charge(Gaussian(0.4))
    assert tally(ledger.spent)[Gaussian(0.5)] == 3


def test_rows_are_split_into_groups_once_as_those_of_two_splits_overlap():
    ledger = Ledger(Gaussian(0.5))
    ledger.groups(2)
    with pytest.raises(RuntimeError, match="once"):
        ledger.groups(3)


@kinds
def test_noise_has_a_margin_for_rounding_where_there_is_no_grid(pure):
    class Sums:
        clip_norm, n_samples, resolution = 1.0, 10**8, None
        model = make_model("logistic")

        def gradient(self, theta):
            return np.zeros_like(theta)

    plan, twin = CheckedGradients(1.0, 1, pure=pure), KeyedStream(_KEY)
    session = Session(KeyedStream(_KEY), Ledger(plan(1.0)))
    oracle = ThresholdOracle([(Sums(), Sums())], plan, 1.0, session)
    draw = samplers.laplace if pure else samplers.standard_normal
    draw(twin, (4,))
    # Sums are rounded to whole units, which move by one in each of four coordinates: by two
    # units in the l2 norm, by four in the l1 norm.
    rounding = 10.0**8 * 2.0**-53
    unit, scale = unit_and_scale(1.0, 1.0 + 10.0**8 * rounding / (1.0 - rounding),
                                 16 if pure else 4)
    expected = scale * draw(twin, (4,))
    answer = oracle.gradient(np.zeros(4)) * 10**8
    np.testing.assert_allclose(answer, expected, rtol=1e-12, atol=unit)
    assert_whole(answer / unit)


@pytest.mark.covering(most=4)
@every_loss
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_an_l1_clip_bounds_the_l1_norm_of_one_row_and_is_attained(name, fit_intercept):
    rng = np.random.default_rng(2)
    model, loss, worst = make_model(name, 3, fit_intercept), make_loss(name), 0.0
    for _ in range(200):
        with np.errstate(all="ignore"):
            x = rng.normal(size=(1, 3)) * 10.0**rng.uniform(-160, 300)
        for X in (x, sparse.csr_matrix(x)):
            one = float_sums(model, loss, Rows(X, make_targets(name, 1, rng)), 0.02, 1)
            with np.errstate(all="ignore"):
                gradient = one.gradient(rng.normal(size=model.shape))
            worst = max(worst, np.abs(gradient).sum())
    assert 0.99 * 0.02 < worst <= 0.02


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_absolute_sums_are_those_of_scaled_rows(dtype):
    X = np.random.default_rng(3).normal(size=(7, 4)).astype(dtype)
    X[2] = 0.0
    scale = np.linspace(0.0, 1.0, 7)
    expected = np.abs(X * scale[:, None]).sum(axis=1)
    np.testing.assert_allclose(absolute_sums(X, scale), expected)
    np.testing.assert_allclose(absolute_sums(sparse.csr_matrix(X), scale), expected)
    np.testing.assert_allclose(absolute_sums(X), np.abs(X).sum(axis=1), rtol=1e-6)


# What users meet.

PUBLIC = {"holdout": "public"}


@pytest.mark.parametrize("cls", [DPLogisticRegression, DPHuberRegressor])
@pytest.mark.parametrize("solver", ["stgd", "minibatch_stgd"])
def test_public_rows_are_named_in_the_certificate_as_not_protected(cls, solver):
    model = cls(solver=solver, solver_options=PUBLIC)
    X, y = training_rows(model)
    model.fit(X[:60], y[:60], public_X=X[60:], public_y=y[60:])
    assert any("not protected" in fact for fact in model.privacy_.public)
    assert model.privacy_.delta == 1 / 60**2
    private = cls(solver=solver).fit(X[:60], y[:60])
    assert private.privacy_.event == model.privacy_.event
    assert not any("not protected" in fact for fact in private.privacy_.public)


@pytest.mark.parametrize("params, given, message", [
    ({"solver_options": PUBLIC}, "", "public_X=None"),
    ({}, "Xy", "holdout"), ({"solver": "gd"}, "Xy", "solver='gd'"),
    ({"solver_options": PUBLIC}, "X", "go together"),
    ({"solver_options": PUBLIC}, "y", "go together"),
    ({"solver_options": {"holdout": "shared"}}, "", "holdout='shared'"),
    ({"solver_options": {"noise": "cauchy"}}, "", "noise='cauchy'"),
    ({"solver_options": {"noise": "gaussian"}, "delta": 0.0}, "", "delta=0.0"),
    ({"solver": "minibatch_stgd", "batch_size": 1}, "", "batch_size=1")])
def test_what_cannot_be_is_refused_by_name(params, given, message):
    model = DPLogisticRegression(**{"solver": "stgd", **params})
    X, y = training_rows(model)
    public = {f"public_{name}": value for name, value in (("X", X), ("y", y)) if name in given}
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **public)


@pytest.mark.parametrize("spoil, message", [
    (lambda X, y: (X[:, :2], y), "features"), (lambda X, y: (X * np.nan, y), "NaN"),
    (lambda X, y: (X, y + 7), "public_y holds a label")])
def test_public_rows_are_held_to_the_rules_of_training_rows(spoil, message):
    model = DPLogisticRegression(solver="stgd", solver_options=PUBLIC)
    X, y = training_rows(model)
    public_X, public_y = spoil(X, y)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, public_X=public_X, public_y=public_y)


def test_other_public_rows_give_other_noise_under_one_seed():
    model = DPLogisticRegression(solver="stgd", solver_options=PUBLIC, random_state=NoiseSeed(3))
    X, y = training_rows(model)
    # The features are all zero, so coefficients are noise, or 0 where the hold-out answered.
    fits = [model.fit(X * 0, y, public_X=scale * X * 0 + shift, public_y=y).coef_.ravel()
            for scale, shift in ((1, 0.0), (1, 0.0), (1, 1e-9))]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.allclose(fits[0], fits[2], rtol=1e-3, atol=1e-6)


def test_laplace_noise_at_positive_delta_costs_less_than_by_addition():
    model = DPLogisticRegression(1.0, delta=1e-5, solver="stgd",
                                 solver_options={"noise": "laplace"})
    X, y = training_rows(model)
    model.fit(X, y)
    added = 20 * 2.5 / 1.0
    assert model.privacy_.noise_multiplier < 0.8 * added
    assert "l1 norm" in str(model.privacy_)
    assert model.set_params(delta=0.0).fit(X, y).privacy_.noise_multiplier == pytest.approx(added)

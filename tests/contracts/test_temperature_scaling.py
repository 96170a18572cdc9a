"""The factor that rescales scores after a fit: its slopes, its rule and its price."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from dpsk import DPLogisticRegression, _fit
from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel, ScaleModel
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import Composed, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import open_stream
from dpsk._queries.gradients import GradientOracle
from dpsk._stages.temperature_scaling import best_factor, slope_clip, slopes_plan
from dpsk._sums.linear_sums import float_sums, grid_sums
from dpsk.testing import NoiseSeed
from tests.registry import make_loss, make_targets

likelihoods = pytest.mark.parametrize("name", ["logistic", "multinomial"])
every_arithmetic = pytest.mark.parametrize("kind", [float_sums, grid_sums])
N = 400


def table(name, seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, make_targets(name, n, rng), rng


def along(name, kind, X, y, theta, z=1e-9, clip_share=0.3):
    """Return an oracle along theta, of nearly no noise unless z says otherwise."""
    outputs = theta.shape[1] if theta.ndim == 2 else None
    model, loss = LinearModel(X.shape[1], outputs, False, 1.0), make_loss(name)
    settings = (30,) if kind is grid_sums else ()
    sums = kind(model, loss, Rows(X, y), 1.0, *settings)
    plan = slopes_plan()
    stream = open_stream(None, lambda: iter(()))
    session = Session(stream, Ledger(Composed((plan(3.0), plan(z)))))
    whole = GradientOracle(sums, plan, 3.0, session)
    return whole.along(theta, plan, clip_share, z)


def direction(name, rng):
    return 2.0 * rng.normal(size=(3, 3) if name == "multinomial" else 3)


@likelihoods
@every_arithmetic
def test_slopes_are_derivatives_of_the_mean_loss_along_the_ray(name, kind):
    X, y, rng = table(name)
    X /= np.linalg.norm(X, axis=1, keepdims=True) * 1.001
    theta, loss = direction(name, rng), make_loss(name)
    oracle = along(name, kind, X, y, theta, clip_share=10.0)
    for factor in (0.3, 1.0):
        above, below = (loss.value(y, (factor + h) * (X @ theta)).mean() for h in (1e-5, -1e-5))
        slope = oracle.gradient(np.array([factor]))
        assert slope.shape == (1,)
        np.testing.assert_allclose(slope[0], (above - below) / 2e-5, rtol=0, atol=1e-4)


@likelihoods
@every_arithmetic
def test_replacing_any_row_moves_a_slope_by_at_most_twice_the_clip(name, kind):
    X, y, rng = table(name, n=40)
    theta = direction(name, rng)
    bound = 0.3 * np.linalg.norm(theta)
    # Scores are largest along the coefficients.
    straight = theta if theta.ndim == 1 else np.linalg.svd(theta)[0][:, 0]
    extremes = [straight, -straight, [0.0, 0.0, 0.0], [1e300, -1e300, 1e300], [1e-320, 0, 0]]
    moves = []
    for factor in (0.1, 1.0, 1e3):
        sums = []
        for row in extremes:
            for target in (0, 1):
                X[7], y[7] = row, target
                oracle = along(name, kind, X, y, theta)
                sums.append(40 * oracle.gradient(np.array([factor]))[0])
        moves.append(max(sums) - min(sums))
    assert max(moves) <= 2.0 * bound
    # The bound is met, or the clip would be wider than it has to be.
    assert max(moves) > 0.9 * bound


@likelihoods
def test_slopes_on_the_grid_have_the_same_bits_in_any_order(name):
    X, y, rng = table(name)
    theta, order = direction(name, rng), rng.permutation(N)
    sums = []
    for rows in (slice(None), order):
        oracle = along(name, grid_sums, X[rows], y[rows], theta, z=3.0)
        assert oracle.arithmetic == "grid"
        sums.append([oracle._sums.gradient(np.array([factor]))[0] for factor in (0.4, 0.77)])
    assert sums[0] == sums[1]


def test_a_row_of_scores_enters_whole_or_not_at_all():
    model = ScaleModel(3, 3, False, 2.0)
    rows = np.array([[1.0, 1.0, 1.0], [30.0, 0.0, 40.0]])
    scale, norms = model.row_scales(rows)
    assert model.shape == (1,) and np.all(norms <= 2.0)
    np.testing.assert_allclose(model.predict_raw(np.array([0.5]), rows, scale)[1], [0.6, 0, 0.8])


@pytest.mark.parametrize(("noise_std", "least", "expected"), [
    (1e-6, 0.5, 0.5), (1e-6, 0.9, 0.9), (1e-6, 0.1, 0.4), (1e-6, 3.0, 1.0),
    (1e6, 0.9, 0.632), (1e6, 0.45, 0.632)])
def test_the_factor_is_the_zero_of_the_slopes_or_the_usual_one_under_noise(noise_std, least,
                                                                          expected):
    oracle = SimpleNamespace(noise_std=noise_std,
                             gradient=lambda factor: np.log(factor / least))
    penalty = SimpleNamespace(slope=np.zeros_like)
    assert best_factor(oracle, penalty, np.ones(3)) == pytest.approx(expected, abs=1e-3)


def test_slopes_that_fall_leave_the_usual_factor():
    oracle = SimpleNamespace(noise_std=1e-9, gradient=lambda factor: -factor)
    penalty = SimpleNamespace(slope=np.zeros_like)
    assert best_factor(oracle, penalty, np.ones(3)) == pytest.approx(0.632, abs=1e-3)


def test_a_ridge_counts_along_the_ray():
    theta = np.array([3.0, 4.0])
    oracle = SimpleNamespace(noise_std=1e-9, gradient=lambda factor: np.full(1, -10.0))
    penalty = SimpleNamespace(slope=lambda point: 0.6 * point)
    # 0.6 * 25 * factor = 10, up to the bend of a line over a logarithm.
    assert best_factor(oracle, penalty, theta) == pytest.approx(2 / 3, abs=0.05)


CASES = [({}, True), ({"solver": "sgd"}, True), ({"solver": "gd", "alpha": 0.1}, True),
         ({"solver": "gd", "alpha": 0.1, "temperature": True}, True),
         ({"precondition": False}, False),
         ({"temperature": False}, False), ({"clip_norm": 0.2}, False),
         ({"clip_norm": np.inf}, False), ({"clip_norm": 0.2, "temperature": True}, True),
         ({"solver": "svrg", "alpha": 0.1}, False),
         ({"penalty": "l1", "alpha": 0.1}, False), ({"penalty": "l2_ball", "radius": 1.0}, False),
         ({"solver": "gd", "solver_options": {"schedule": "convex"}}, False)]


@pytest.mark.parametrize(("params", "expected"), CASES)
def test_temperature_is_found_where_the_default_clip_bites(params, expected, ledgers):
    X, y, _ = table("logistic")
    model = DPLogisticRegression(max_iter=8, **params).fit(X, y)
    assert (model.temperature_ is not None) == expected
    assert ("temperature_" in model.privacy_.released) == expected
    assert any(bound.name == "slope_clip" for bound in model.privacy_.enforced) == expected
    assert tally(ledgers[0].spent) == tally(ledgers[0].plan)
    if expected:
        assert 1.0 <= model.temperature_ <= 2.5


def test_slopes_take_a_fiftieth_of_the_budget(ledgers):
    X, y, _ = table("logistic")
    fits = [DPLogisticRegression(delta=1e-3, temperature=temperature, precondition=False,
                                 data_norm=1.0).fit(X, y) for temperature in (True, False)]
    (slope, count), = (item for item in tally(ledgers[0].plan).items() if item[1] == 4)
    assert count * slope.mu**2 == pytest.approx(0.02 * gaussian_mu(1.0, 1e-3)**2)
    ratio = fits[0].privacy_.noise_multiplier / fits[1].privacy_.noise_multiplier
    assert ratio == pytest.approx(0.98**-0.5, rel=1e-4)


@pytest.mark.parametrize("params", [
    {"clip_norm": np.inf, "solver": "gd"}, {"solver": "svrg", "alpha": 0.1},
    {"penalty": "l1", "alpha": 0.1}, {"delta": 0.0}, {"penalty": "l1_ball", "radius": 1.0}])
def test_a_temperature_that_cannot_be_had_is_refused_before_any_noise(params, monkeypatch):
    X, y, _ = table("logistic")
    monkeypatch.setattr(_fit, "calibrate", None)
    with pytest.raises(ValueError, match="temperature=True"):
        DPLogisticRegression(temperature=True, **params).fit(X, y)


def test_a_model_that_learned_nothing_is_left_as_it_is(monkeypatch):
    X, y, _ = table("logistic")
    solver = "dpsk._solvers.first_order.gd.descend"
    monkeypatch.setattr(solver, lambda oracle, penalty, theta, **_: SimpleNamespace(
        theta=np.zeros_like(theta), n_iter=1))
    model = DPLogisticRegression(solver="gd").fit(X, y)
    assert model.temperature_ == 1.0 and not model.coef_.any()


@pytest.mark.parametrize("columns, epsilon, params, factor", [
    (60, 0.2, {}, 0.25), (60, 0.2, {"precondition": False}, 0.25), (60, 0.2, {"n": 3}, 0.25),
    (60, 1.0, {"precondition": False}, 1.0), (60, 0.2, {"temperature": False}, 1.0),
    (60, 0.2, {"clip_norm": 0.2}, 1.0), (300, 0.2, {}, 0.25),
    (60, 0.2, {"penalty": "l2_ball", "radius": 1.0}, 1.0),
    (300, 0.8, {}, 1.0)])
def test_scores_of_few_rows_that_are_not_whitened_are_divided_by_four(columns, epsilon, params,
                                                                      factor, monkeypatch):
    """`n mu` is about 22 at epsilon .2, below one a column, and 80 to 100 at the others."""
    classes = params.pop("n", 2)
    X = np.random.default_rng(0).normal(size=(N, columns)) / 10.0
    monkeypatch.setattr("dpsk._solvers.first_order.gd.descend", lambda oracle, penalty, theta, **_:
                        SimpleNamespace(theta=np.ones_like(theta), n_iter=1))
    model = DPLogisticRegression(epsilon, solver="gd", data_norm=1.0, **params).fit(
        X, np.arange(N) % classes)
    assert model.preconditioner_ is None and model.temperature_ is None
    np.testing.assert_array_equal(model.coef_, factor)
    np.testing.assert_array_equal(model.intercept_, factor)


def test_probabilities_of_a_clipped_fit_are_nearer_to_the_truth():
    # 20 standard deviations of the noise lie between the two, so no seed fails.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) / 4.0
    y = (X @ np.array([3.0, -2.0, 1.0, 0.0]) + rng.logistic(size=20_000) * 0.6 > 0).astype(int)
    losses = []
    for temperature in (True, False):
        model = DPLogisticRegression(1.0, temperature=temperature, clip_norm=0.1).fit(X, y)
        odds = model.predict_log_proba(X)
        losses.append(-odds[np.arange(len(y)), y].mean())
    assert losses[0] < losses[1] - 0.005


def test_scores_of_more_classes_than_columns_are_left_alone():
    X, _, rng = table("multinomial")
    for n_classes, expected in ((4, True), (5, False)):
        y = rng.integers(n_classes, size=N)
        model = DPLogisticRegression(precondition=True).fit(X, y)
        assert (model.temperature_ is not None) == expected


def test_slopes_of_sparse_rows_are_those_of_dense_ones():
    X, y, _ = table("multinomial")
    fits = [DPLogisticRegression(solver="gd", precondition=False, temperature=True,
                                 random_state=NoiseSeed(0)).fit(form(X), y)
            for form in (np.asarray, sparse.csr_matrix)]
    assert fits[0].temperature_ == fits[1].temperature_ > 1.0


def test_the_clip_of_slopes_follows_the_class_weights():
    X, y, _ = table("logistic")
    model = DPLogisticRegression(class_weight={0: 1.0, 1: 20.0}).fit(X, y)
    clips = {bound.name: bound.value for bound in model.privacy_.enforced}
    assert clips["slope_clip"] == pytest.approx(20 * 0.3)
    free = SimpleNamespace(usual_weight=1.0)
    assert slope_clip(free) == pytest.approx(0.3)


def test_no_two_plans_share_a_key(monkeypatch):
    """One seed and one table: the same noise under two multipliers would give away its sums."""
    X, y, _ = table("multinomial", n=60)
    keys, opened = {}, _fit.open_stream

    def recording(seed, context):
        parts = list(context())
        latest[:] = [tuple(parts)] if parts[0] != b"public draws" else latest
        return opened(seed, lambda: iter(parts))

    latest = []
    monkeypatch.setattr(_fit, "open_stream", recording)
    for solver, temperature, precondition, alpha, form in itertools.product(
            ("gd", "sgd"), ("auto", True, False), ("auto", False), (0.0, 0.1),
            (np.asarray, sparse.csr_matrix)):
        model = DPLogisticRegression(
            solver=solver, temperature=temperature, precondition=precondition, alpha=alpha,
            max_iter=2, random_state=NoiseSeed(1)).fit(form(X), y)
        assert keys.setdefault(latest[0], model.privacy_.event) == model.privacy_.event
    assert len(keys) > 12

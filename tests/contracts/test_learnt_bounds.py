"""Bounds that are learnt: their rule, their price, and how far a row moves their choice."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from dpsk import (
    DPDecisionTreeRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPMLPClassifier,
    DPMLPRegressor,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPRidge,
    accounting,
)
from dpsk._data.source import Rows
from dpsk._defaults.budgets import (
    NORM_TAILS,
    QUANTILE_SHARES,
    RESIDUAL_SHARE,
    TARGET_REACH,
    TARGET_TAILS,
    mu_of_share,
)
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.events import Composed
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices, NoisySums
from dpsk._queries import gradients
from dpsk._stages import NormBound, TargetBounds
from dpsk._stages.bounds import quantile_rule, widened
from dpsk._statistics.quantiles import positive_grid
from dpsk._sums import grid_entry
from dpsk.accounting import Gaussian
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.contracts.test_group_neighbors import largest_share
from tests.estimators.test_learnt_bounds import every_fit, make, rounds_of, rows
from tests.events import tally
from tests.registry import make_problem

#: Tests here compare the plans of several fits, which follow the draw of their rounds.
pytestmark = pytest.mark.usefixtures("longest_rounds")


@pytest.mark.covering(most=6)
@every_fit
@pytest.mark.parametrize("delta", [pytest.param(None, marks=pytest.mark.audit), 1e-5])
def test_what_is_learnt_is_charged_and_stated_within_the_budget(cls, solver, delta):
    X, y = rows()
    y = np.maximum(y, 0.0)
    model = make(cls, solver, epsilon=2.0, delta=delta, max_iter=None)
    with taped() as tape:
        model.fit(X, y)
    certificate = model.privacy_
    assert accounting.delta(certificate.event, 2.0) <= certificate.delta
    # After scales of features and the rounds that center rows: one quantile of norms, then those
    # of the targets, which are a median, an end on either side and a spread; of counts a spread
    # and an end.
    count = 3 if cls is DPPoissonRegressor else 5
    scales = 0 if model.feature_scales_ is None else X.shape[1]
    learned = slice(first := scales + 2 * rounds_of(model), first + count)
    (cost,) = {event for events in tape.events[learned] for event in events}
    assert tally(certificate.event)[cost] == count
    laws = [part.sensitivity.law for parts in tape.parts[learned] for part in parts]
    assert laws == ["gumbel"] * count
    assert cost.mu == pytest.approx(mu_of_share(certificate, QUANTILE_SHARES[0]), rel=1e-9)
    bounds = {line.name: line for line in certificate.enforced}
    assert bounds["data_norm"].value == model.data_norm_
    assert bounds["target_bounds"].value == list(model.target_bounds_)
    assert {bounds[name].origin for name in ("data_norm", "target_bounds")} == {"released"}
    assert {"data_norm_", "target_bounds_"} <= set(certificate.released)
    center = 0.0 if model.center_ is None else model.center_
    norms = np.linalg.norm(X - center, axis=1)
    assert np.quantile(norms, 0.8) < model.data_norm_ < norms.max()
    low, high = model.target_bounds_
    assert high - low < 120 and high > np.quantile(y, 0.95)


@pytest.mark.parametrize("n_samples, epsilon", [(2, 1e4), (4, 30.0), (8, 20.0)])
@pytest.mark.parametrize("make_model", [
    partial(DPDecisionTreeRegressor, columns={0: (-1, 1)}), DPLinearRegression, DPPoissonRegressor,
    partial(DPMLPRegressor, max_iter=2)])
def test_bounds_of_very_few_rows_leave_budget_at_a_large_epsilon(make_model, n_samples, epsilon):
    model = make_model(epsilon=epsilon, random_state=0)
    model.fit(np.zeros((n_samples, 1)), np.arange(20.0, 20.0 + n_samples))
    assert accounting.delta(model.privacy_.event, epsilon) <= model.privacy_.delta
    low, high = model.target_bounds_
    assert low < high


@pytest.mark.parametrize("shape", [(3,), (4,), (3, 2), (4, 5)])
def test_coefficients_are_divided_by_the_unit_and_intercepts_are_not(shape):
    stage = NormBound(LinearModel(3, None, True, 1.0))
    theta = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    stage.value = 8.0
    found = stage.undo(None, theta)
    np.testing.assert_array_equal(found[:3], theta[:3] / 8.0)
    np.testing.assert_array_equal(found[3:], theta[3:])
    assert theta.flat[0] == 1.0


@pytest.mark.parametrize("name, stage, tails", [
    ("data_norm", NormBound(LinearModel(3, None, True, 1.0)), NORM_TAILS),
    ("target_bounds", TargetBounds(lambda y, low, high: y, float), TARGET_TAILS)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_rule_is_one_of_public_facts_and_refuses_with_a_remedy(name, stage, tails, delta):
    facts = make_problem(epsilon=1.0, delta=delta, n_samples=50)
    with pytest.raises(ValueError, match=f"^{name}: n=50 rows at epsilon=1 are too few .*"
                                         f"declare {name}, or raise epsilon"):
        stage.event(facts)
    with pytest.raises(ValueError, match=r"takes (inf|\d.*e\+\d+) times"):
        stage.event(replace(facts, epsilon=1e-30, delta=delta and 1e-60))
    assert stage.event(replace(facts, epsilon=40.0))
    # The price grows before the rule refuses, then tails shrink.
    prices, found = [], []
    for n in (1500, 3000, 6000, 10**5, 10**8):
        try:
            event, tail = quantile_rule(name, replace(facts, n_samples=n), tails)
        except ValueError:
            assert not found and n < 6000
            continue
        found.append(tail)
        prices.append(event.mu if isinstance(event, Gaussian) else event.epsilon)
    assert found == sorted(found, reverse=True) and prices == sorted(prices, reverse=True)
    assert tails[0] == found[-1] and found[0] <= tails[1] * (1 + 1e-12)
    assert len(found) >= 3


@dataclass(frozen=True, eq=False)
class Case:
    """A table of one kind, and bounds that are wanted of it."""

    X: np.ndarray
    y: np.ndarray

    def bounds(self, lowest=None):
        """Return what stages release at next to no noise, and the mapped rows."""
        problem = make_problem(n_samples=len(self.y), n_features=1, epsilon=1e4)
        rows_, values = Rows(self.X, self.y), []
        for stage in (NormBound(LinearModel(1, None, True, 1.0)), TargetBounds(
                lambda y, low, high: (y - low) / (high - low), float, lowest)):
            _, rows_ = stage.release(problem, rows_, Session(
                EntropyStream(), Ledger(stage.event(problem))))
            values.append(stage.value)
        return *values, rows_


@pytest.mark.parametrize("value", [0.0, 1e-300, 5.0, -5.0, 2020.0, 1e300, -1e300])
def test_degenerate_tables_have_ordered_bounds_and_finite_rows(value):
    case = Case(np.full((400, 1), value), np.full(400, value))
    norm, (low, high), mapped = case.bounds()
    assert positive_grid()[0] <= norm <= positive_grid()[-1]
    assert low < high and np.isfinite([low, high]).all()
    # Distances from a median are single precision's at 1e12, and end at 2^40.
    assert low <= np.clip(value, -1e12, 1e12) + 2.0**40 * (value > 1e12)
    assert high >= np.clip(value, -1e12, 1e12) - 2.0**40 * (value < -1e12)
    assert ((mapped.y >= 0) & (mapped.y <= 1)).all()
    _, (zero, high), _ = Case(np.ones((400, 1)), np.full(400, abs(value))).bounds(lowest=0.0)
    assert zero == 0.0 < high <= 2.0**40


def test_quantiles_of_a_large_tail_are_widened_to_those_of_a_small_one():
    rng = np.random.default_rng(0)
    y = 7.0 + 3.0 * rng.normal(size=100_000)
    wanted = np.quantile(y, [TARGET_REACH, 1 - TARGET_REACH])
    for tail in (0.015, 0.1, 0.25):
        found = widened(*np.quantile(y, [tail, 1 - tail]), tail)
        np.testing.assert_allclose(found, wanted, atol=0.25)
    assert widened(-1.0, 1.0, 1e-6) == (-1.0, 1.0)
    for low, high in ((3.0, 1.0), (2.0, 2.0), (0.0, 0.0)):
        ends = widened(low, high, 0.1)
        assert ends[0] < ends[1]
        assert sum(ends) == pytest.approx(low + high)


N, D, WHO = 120, 4, 5
_BOUNDS = {"target_bounds": (0.0, 1.0)}
CENTERED = {
    "whitened": (DPLogisticRegression, {"max_iter": 3}),
    "plain": (DPLogisticRegression, {"max_iter": 3, "precondition": False}),
    "scaled": (DPLogisticRegression, {"max_iter": 3, "precondition": "unit_norm"}),
    "sampled": (DPLinearRegression, {"solver": "sgd", "batch_size": 20, "max_iter": 3, **_BOUNDS}),
    "moments": (DPRidge, _BOUNDS),
    "network": (DPMLPClassifier, {"hidden_layer_sizes": (3,), "max_iter": 3}),
}


def centered_table(offset, dtype, order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * rng.choice([0.1, 1.0, 3.0], size=(N, 1))
    return np.asarray(X + offset, dtype, order), (X[:, 0] > 0.0).astype(int)


def others(center):
    """Yield rows far from a center, at it, just off it, and in other octaves about it."""
    # Networks refuse longer rows than single precision holds, by the public dtype.
    largest = float(np.finfo(np.float32).max)
    yield from (np.full(D, each) for each in (largest, -largest, 1e-45, -0.0))
    yield np.array([largest, -largest, largest, 0.0])
    yield center
    yield np.nextafter(center, np.inf)
    for power in (-20, 1, 5, 39, 60):
        yield center + 2.0**power
        yield center - 2.0**power


@pytest.mark.covering(most=6)
@pytest.mark.parametrize("name", CENTERED)
@pytest.mark.parametrize("offset, dtype, order", [(30.0, np.float32, "C"), (1e6, float, "F"),
                                                  (0.0, float, "C")], ids=["near", "far", "at"])
def test_a_row_moves_no_sum_about_a_center_beyond_its_price_and_shows_in_nothing_else(
        name, offset, dtype, order, monkeypatch):
    # Later passes read rows again.
    monkeypatch.setattr(grid_entry, "_SMALL_BYTES", 0)
    cls, params = CENTERED[name]

    def job(X, y):
        model = cls(epsilon=50.0, delta=1e-4, random_state=0, **params).fit(X, y)
        assert rounds_of(model) == 8
        return model

    def neighbors(X, y):
        for row in others(np.asarray(job(X, y).center_, float)):
            changed, turned = X.copy(order="K"), y.copy()
            changed[WHO], turned[WHO] = row, 1 - y[WHO]
            yield changed, turned

    given = centered_table(offset, dtype, order)
    assert largest_share(job, given, neighbors(*given)) > 0.3


GRID, THETA = np.linspace(-1.0, 1.0, 9), np.array([0.4, -0.2, 0.1])


def residual_scores(X, y, q):
    """Return the exact scores of the points of `GRID` at `THETA`."""
    problem = make_problem("squared", n_samples=len(y), n_features=2)
    asked, declared = gradients.Gradients(NoisySums(FullBatch(), 1), 1.0), ExponentialChoices(
        1, False)
    session = Session(EntropyStream(), Ledger(Composed((asked.event(2.0), declared(2.0)))))
    oracle = asked.run((problem, Rows(X, y)), session, 2.0)
    with taped() as tape:
        oracle.residual_quantile(THETA, q, GRID, declared.release(2.0))
    return tape.totals[0][0]


@pytest.mark.parametrize("q", [0.05, 0.9])
def test_no_row_moves_a_score_of_residuals_by_more_than_one(q):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.uniform(-1.0, 1.0, 30)
    own, moves = residual_scores(X, y, q), []
    for row, target in (([0.0, 0.0], 1.0), ([1e9, -1e9], -1.0), ([-1e9, 1e9], 1.0), (X[1], -y[1])):
        changed, turned = X.copy(), y.copy()
        changed[0], turned[0] = row, target
        moves.append(np.abs(residual_scores(changed, turned, q) - own).max())
    assert max(moves) == 1


def fitted_quantile(**params):
    """Return a model, its rows and targets, and the residuals that it read."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 3)) * rng.choice([0.2, 1.0, 4.0], (10_000, 1))
    y, read = np.exp(rng.normal(size=10_000)), []

    def recorded(rows, numbers, *given):
        read.append(numbers(rows, slice(None)))
        return noisy(rows, numbers, *given)

    noisy = gradients.noisy_quantile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradients, "noisy_quantile", recorded)
        model = DPQuantileRegressor(2.0, quantile=0.95, random_state=NoiseSeed(1), **params)
        model.fit(X, y)
    return model, X, y, read


def test_residuals_are_those_of_predictions_of_long_rows_too():
    """Rows that entered scaled down with their targets were compared with whole targets."""
    model, X, y, (read,) = fitted_quantile()
    low, high = model.target_bounds_
    wanted = np.clip(y, low, high) - X @ model.coef_ - model.intercept_
    away = read * (high - low) / 2 - wanted
    # They differ by the correction, as predictions have it.
    np.testing.assert_allclose(away, np.median(away), atol=1e-6 * (high - low))


def test_a_correction_is_charged_within_the_budget_and_only_where_it_helps():
    model, *_, read = fitted_quantile()
    certificate = model.privacy_
    assert accounting.delta(certificate.event, 2.0) <= certificate.delta
    price = mu_of_share(certificate, RESIDUAL_SHARE)
    assert [count for event, count in tally(certificate.event).items()
            if getattr(event, "mu", 0.0) == pytest.approx(price, rel=1e-6)] == [1]
    assert len(read) == 1
    assert not fitted_quantile(fit_intercept=False)[-1]
    model.set_params(quantile=0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradients, "noisy_quantile", None)
        model.fit(np.zeros((100, 1)), np.arange(100.0), sample_weight=np.ones(100))

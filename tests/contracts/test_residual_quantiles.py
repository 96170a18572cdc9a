"""The correction of an extreme quantile: what it reads, how far a row moves it, what it costs."""

import numpy as np
import pytest

from dpsk import DPQuantileRegressor, accounting
from dpsk._data.source import Rows
from dpsk._defaults.budgets import RESIDUAL_SHARE, mu_of_share
from dpsk._mechanism.session import Session
from dpsk._privacy.batches import FullBatch
from dpsk._privacy.events import Composed
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices, NoisySums
from dpsk._queries import gradients
from dpsk.testing import NoiseSeed
from tests.contracts.tapes import taped
from tests.events import tally
from tests.registry import make_problem

GRID, THETA = np.linspace(-1.0, 1.0, 9), np.array([0.4, -0.2, 0.1])


def scores(X, y, q):
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
def test_no_row_moves_a_score_by_more_than_one(q):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.uniform(-1.0, 1.0, 30)
    own, moves = scores(X, y, q), []
    for row, target in (([0.0, 0.0], 1.0), ([1e9, -1e9], -1.0), ([-1e9, 1e9], 1.0), (X[1], -y[1])):
        changed, turned = X.copy(), y.copy()
        changed[0], turned[0] = row, target
        moves.append(np.abs(scores(changed, turned, q) - own).max())
    assert max(moves) == 1


def fitted(**params):
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
    model, X, y, (read,) = fitted()
    low, high = model.target_bounds_
    wanted = np.clip(y, low, high) - X @ model.coef_ - model.intercept_
    away = read * (high - low) / 2 - wanted
    # They differ by the correction, as predictions have it.
    np.testing.assert_allclose(away, np.median(away), atol=1e-6 * (high - low))


def test_it_is_charged_within_the_budget_and_only_where_it_helps():
    model, *_, read = fitted()
    certificate = model.privacy_
    assert accounting.delta(certificate.event, 2.0) <= certificate.delta
    price = mu_of_share(certificate, RESIDUAL_SHARE)
    assert [count for event, count in tally(certificate.event).items()
            if getattr(event, "mu", 0.0) == pytest.approx(price, rel=1e-6)] == [1]
    assert len(read) == 1
    assert not fitted(fit_intercept=False)[-1]
    model.set_params(quantile=0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradients, "noisy_quantile", None)
        model.fit(np.zeros((100, 1)), np.arange(100.0), sample_weight=np.ones(100))

"""Releases before a solver: charged at their share, and stated on the certificate."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpsk import DPAUCMaximizer, DPMLPClassifier
from dpsk._defaults.budgets import NETWORK_MOMENT_SHARE, mu_of_share
from dpsk._defaults.networks import whitened_length
from dpsk._stages.centering import mean_budget
from dpsk._stages.whitening import moment_budget
from dpsk.accounting import Gaussian, delta
from tests.estimators.pairs import build
from tests.estimators.test_centering import build as network
from tests.estimators.test_centering import every_network_fit
from tests.estimators.test_centering import rows as shifted_rows
from tests.estimators.test_whitened_networks import WHITENED, every_network
from tests.estimators.test_whitened_networks import rows as network_rows
from tests.estimators.test_whitening import _fit, every_whitened_fit
from tests.events import gaussian_mu, tally
from tests.registry import (
    training_rows,
    where_sets_may_be_needed,
)

#: Tests here compare the plans of several fits, which follow the draw of their rounds.
pytestmark = pytest.mark.usefixtures("longest_rounds")


@every_network_fit
def test_the_mean_is_released_charged_and_stated(cls, params):
    X, y = shifted_rows()
    model = network(cls, precondition=True, **params).fit(X, y)
    np.testing.assert_allclose(model.center_, X.mean(axis=0), atol=0.05)
    certificate = model.privacy_
    assert "center_" in certificate.released
    (bound,) = [one for one in certificate.enforced if one.name == "center_norm"]
    assert bound.value == (4.0 if cls is DPAUCMaximizer else np.sqrt(2.0))
    cost = Gaussian(mean_budget(certificate))
    assert tally(certificate.event)[cost] == 1
    assert delta(certificate.event, certificate.epsilon) <= certificate.delta
    plain = network(cls, precondition=False, **params).fit(X, y)
    assert plain.center_ is None and "center_" not in plain.privacy_.released
    assert cost not in tally(plain.privacy_.event)
    assert plain.privacy_.noise_multiplier < certificate.noise_multiplier


@pytest.mark.thorough
def test_with_little_noise_mapped_rows_are_centered_white_and_of_public_length():
    X, y = network_rows()
    model = DPMLPClassifier(1e5, **WHITENED).fit(X, y)
    mapped = (X - model.center_) @ model.preconditioner_
    np.testing.assert_allclose(mapped.mean(axis=0), 0.0, atol=0.2)
    # A learnt bound shortens the longest rows in the moment.
    np.testing.assert_allclose(np.cov(mapped.T) * 3 / whitened_length(3)**2, np.eye(3), atol=0.35)


@pytest.mark.covering
@where_sets_may_be_needed(every_whitened_fit)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-3)])
def test_moment_and_steps_together_cost_the_budget_exactly(cls, solver, epsilon, delta):
    params = {"max_iter": 3} if solver == "output_perturbation" else {"max_iter": 7}
    model, _ = _fit(cls, solver, epsilon=epsilon, delta=delta, batch_size=20, **params)
    certificate = model.privacy_
    assert 0.98 * delta < certificate.delta_at(epsilon) <= delta
    counts = tally(certificate.event)
    gaussian = [event for event in counts if isinstance(event, Gaussian)]
    mu = gaussian_mu(epsilon, delta)
    budget = moment_budget(SimpleNamespace(epsilon=epsilon, delta=delta))
    assert 0.1 * mu**2 < budget**2 < 0.5 * mu**2
    assert any(event.mu == pytest.approx(budget, rel=1e-9) for event in gaussian)
    if len(gaussian) == len(counts):
        total = math.sqrt(sum(count * event.mu**2 for event, count in counts.items()))
        assert total == pytest.approx(mu, rel=1e-9)
    plain = build(cls, solver, precondition=False, epsilon=epsilon, delta=delta, batch_size=20,
                  **params).fit(*training_rows(model)).privacy_
    # The price of a perturbed objective depends on the length of the rows.
    if solver != "objective_perturbation":
        assert plain.noise_multiplier < certificate.noise_multiplier
    assert 0.98 * delta < plain.delta_at(epsilon) <= delta


@every_network
@pytest.mark.parametrize("solver", ["gd", "rrpsgd", "sgd"])
@pytest.mark.parametrize("norm", [None, 0.8])
def test_the_moment_is_released_charged_and_stated(cls, solver, norm):
    X, y = network_rows()
    model = cls(2.0, solver=solver, data_norm=norm, **WHITENED).fit(X, y)
    certificate = model.privacy_
    assert {"preconditioner_", "center_", "linear_coef_"} <= set(certificate.released)
    (bound,) = [one for one in certificate.enforced if one.name == "moment_norm"]
    assert bound.origin == ("released" if norm is None else "derived")
    lengths = np.linalg.norm(X - model.center_, axis=1)
    assert bound.value == norm or np.median(lengths) < bound.value < 1.5 * lengths.max()
    events = tally(certificate.event)
    assert events[Gaussian(mu_of_share(certificate, NETWORK_MOMENT_SHARE))] == 1
    assert delta(certificate.event, certificate.epsilon) <= certificate.delta
    plain = cls(2.0, solver=solver, **{**WHITENED, "precondition": False}).fit(X, y)
    assert plain.preconditioner_ is plain.center_ is plain.linear_coef_ is None
    assert not {"preconditioner_", "center_", "linear_coef_"} & set(plain.privacy_.released)

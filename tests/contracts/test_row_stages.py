"""Every row stage: what it declares, what it maps, what it leaves, by registration alone."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from dpsk import DPHuberRegressor, DPLogisticRegression
from dpsk._privacy.events import tally
from dpsk._queries import Gradients
from dpsk._solvers.first_order.gd import GradientDescent
from dpsk._stages import ROW_STAGES, Shrinkage
from dpsk.testing import NoiseSeed
from tests.page_examples import module_of
from tests.registry import training_rows

#: A stage that somebody else may add.
Standardization = module_of("CONTRIBUTING.md", "dpsk/_stages/standardization.py").Standardization


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(ROW_STAGES, "standardization", Standardization)


@pytest.fixture
def handed_over(monkeypatch):
    """Collect the models and the rows that oracles are opened with."""
    seen, before = [], Gradients.run

    def opened(self, data, *rest):
        problem, rows = data
        seen.append((problem.model, rows.take(slice(0, len(rows))).X.copy()))
        return before(self, data, *rest)

    monkeypatch.setattr(Gradients, "run", opened)
    return seen


every_stage = pytest.mark.parametrize("name", [*sorted(ROW_STAGES), "standardization"])
estimators = pytest.mark.parametrize("cls", [DPLogisticRegression, DPHuberRegressor])


def _model(cls, name, **params):
    if not is_classifier(cls()) and name and ROW_STAGES[name].normalizes:
        pytest.skip("for scores only")
    return cls(epsilon=4.0, max_iter=8, solver="gd", precondition=name,
               random_state=NoiseSeed(0), **params)


@every_stage
@estimators
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_it_pays_for_what_it_releases_and_says_so(name, cls, fit_intercept, ledgers):
    model = _model(cls, name, fit_intercept=fit_intercept)
    X, y = training_rows(model)
    certificate = model.fit(X, y).privacy_
    (ledger,) = ledgers
    assert tally(ledger.spent) == tally(ledger.plan) == tally(certificate.event)
    stage = ROW_STAGES[name]
    assert stage.attribute in certificate.released and hasattr(model, stage.attribute)
    (bound,) = [line for line in certificate.enforced if line.name == "data_norm"]
    assert stage.words in bound.how
    plain = _model(cls, False, fit_intercept=fit_intercept).fit(X, y)
    assert plain.privacy_.noise_multiplier < certificate.noise_multiplier


@pytest.fixture
def solved(monkeypatch):
    """Collect the parameters that solvers return, of rows as their oracles have them.

    Nothing changes them afterwards but what goes back to the rows as they came.
    """
    seen, minimize = [], GradientDescent.minimize

    def kept(self, *given):
        result = minimize(self, *given)
        seen.append(result.theta.copy())
        return result

    monkeypatch.setattr(GradientDescent, "minimize", kept)
    monkeypatch.setattr(Shrinkage, "applies", lambda *given: False)
    return seen


@every_stage
@estimators
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_prediction_is_that_of_rows_in_training(name, cls, fit_intercept, handed_over, solved):
    """All of them where rows have one length, else those that were not shortened."""
    model = _model(cls, name, fit_intercept=fit_intercept)
    if is_classifier(model):
        model.set_params(temperature=False)
    X, y = training_rows(model)
    model.fit(X, y)
    middle, unit = 0.0, 1.0
    if not is_classifier(model):
        # Without an intercept, targets are scaled by their distance from 0.
        low, high = model.target_bounds_
        middle = 0.5 * (low + high) * fit_intercept
        unit = 0.5 * (high - low) if fit_intercept else max(-low, high)
    ((mapped, rows),), (theta,) = handed_over, solved
    scale, norms = mapped.row_scales(rows)
    trained = mapped.predict_raw(theta, rows, scale)
    kept = (norms < 1 - 1e-6) & (np.linalg.norm(X, axis=1) < 1.0)
    if ROW_STAGES[name].normalizes:
        kept[:] = True
    assert kept.any()
    predicted = model._predict_raw(X) - middle
    np.testing.assert_allclose(predicted[kept], unit * trained[kept], atol=1e-6)


@every_stage
@pytest.mark.parametrize("params, message", [
    ({"delta": 0.0, "solver": "objective_perturbation"}, "delta > 0"),
    ({"penalty": "l1_ball", "radius": 1.0, "solver": "accmd"}, "no use for it")])
def test_where_it_cannot_be_had_it_is_refused_by_name(name, params, message):
    model = DPLogisticRegression(precondition=name, **params)
    with pytest.raises(ValueError, match=f"precondition='{name}'.*{message}"):
        model.fit(*training_rows(model))

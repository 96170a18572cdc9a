"""Regressors whose bound on row norms is neither declared nor learned are no worse than a mean."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

from dpsk import DPHuberRegressor, DPLasso, DPLinearRegression, DPPoissonRegressor, DPRidge
from dpsk.exceptions import PrivacyWarning
from dpsk.testing import NoiseSeed
from tests.registry import LINEAR

N = 600
REGRESSORS = {name: cls for name, cls in LINEAR.items() if not is_classifier(cls())}
#: Tables by the scales of their columns, and the means of these in units of them.
TABLES = {"standard": (np.ones(4), 0.0), "units": (np.array([1.0, 100.0, 0.01, 30.0]), 3.0)}
FITS = [pytest.param(cls, params, id=f"{name}-{text}") for name, cls in sorted(REGRESSORS.items())
        for text, params in {"plain": {}, "penalized": {"alpha": 1e-3}}.items()]


def halves(name):
    """Return training rows and counts, and others."""
    scales, mean = TABLES[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 4))
    y = np.clip(np.round(20.0 + 5.0 * X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=2 * N)), 0, None)
    X = (X + mean) * scales
    return (X[:N], y[:N]), (X[N:], y[N:])


def fitted(model, X, y):
    """Return the first words of what a fit warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(each.message) for each in caught if issubclass(each.category, PrivacyWarning)]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("delta", [0.0, None])
@pytest.mark.parametrize("cls, params", FITS)
def test_no_regressor_is_much_worse_than_the_mean_at_its_defaults(cls, params, delta, table):
    """R2 was -5 to -60 at any budget where a penalty kept the bound from being learned."""
    train, test = halves(table)
    model = cls(20.0, delta=delta, random_state=NoiseSeed(0), **params)
    fitted(model, *train)
    assert model.score(*test) >= -0.1


@pytest.mark.parametrize("cls, params, remedy", [
    (DPRidge, {"delta": 0.0}, {"delta": None}), (DPRidge, {"delta": 0.0}, {"data_norm": 5.0}),
    (DPPoissonRegressor, {"delta": 0.0, "alpha": 1e-3}, {"delta": None}),
    (DPLasso, {"solver": "frank_wolfe"}, {"data_norm": 5.0}),
    (DPHuberRegressor, {"solver": "output_perturbation", "alpha": 1e-3}, {"solver": "gd"})])
def test_the_remedies_that_a_warning_names_are_accepted(cls, params, remedy):
    train, test = halves("standard")
    model = cls(20.0, random_state=NoiseSeed(0), **params)
    (said,) = fitted(model, *train)
    ((name, value),) = remedy.items()
    assert "a constant is all that is fitted" in said
    assert f"{name}={value!r}" in said.replace("data_norm, such as 1.0", "data_norm=5.0")
    assert not model.coef_.any()
    assert not fitted(model.set_params(**remedy), *train)
    assert model.score(*test) > 0.4


def test_bounded_entries_bound_the_norm():
    train, test = halves("standard")
    model = DPLasso(20.0, solver="frank_wolfe", data_norm_inf=4.0, target_bounds=(0, 40),
                    random_state=NoiseSeed(0))
    assert not fitted(model, *train)
    (line,) = [each for each in model.privacy_.enforced if each.name == "data_norm"]
    assert (line.value, line.origin) == (8.0, "derived") and model.data_norm_ == 8.0
    assert model.score(*test) > 0.8


@pytest.mark.parametrize("params", [{"delta": 0.0, "alpha": 1e-3}, {"epsilon": 0.05}])
def test_without_an_intercept_rows_are_cut_in_prediction_as_in_training(params):
    (X, y), _ = halves("units")
    model = (DPRidge if "alpha" in params else DPLinearRegression)(
        **{"epsilon": 20.0, **params}, fit_intercept=False, target_bounds=(-1, 1),
        random_state=NoiseSeed(0))
    (said,) = fitted(model, X[:60], np.sign(y[:60] - 20.0))
    assert "data_norm=1.0 holds" in said and "in prediction too" in said
    np.testing.assert_allclose(model.predict(X), model.predict(1e3 * X), rtol=1e-5)

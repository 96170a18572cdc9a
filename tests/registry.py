"""Everything that tests parametrise over, read from the package's own registries.

A new estimator, solver, loss or penalty is picked up here and meets every contract test.
"""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier

import dpsk
from dpsk._losses import LOSSES
from dpsk._models import LinearModel
from dpsk._penalties import PENALTIES
from dpsk._solvers import SOLVERS, Problem

ESTIMATORS = {name: getattr(dpsk, name) for name in dpsk.__all__
              if inspect.isclass(getattr(dpsk, name))
              and issubclass(getattr(dpsk, name), BaseEstimator)}

#: Arguments of the losses that need some.
LOSS_ARGUMENTS = {"huber": (0.3,)}
N_OUTPUTS = 3


def make_loss(name):
    return LOSSES[name](*LOSS_ARGUMENTS.get(name, ()))


def make_model(name, n_features=3, fit_intercept=True, data_norm=1.0):
    """Return a linear model with the raw prediction that the loss `name` takes."""
    outputs = N_OUTPUTS if make_loss(name).vector_output else None
    return LinearModel(n_features, outputs, fit_intercept, data_norm)


def make_targets(name, n, rng):
    """Return `n` targets that the loss `name` takes."""
    if make_loss(name).vector_output:
        return rng.integers(N_OUTPUTS, size=n)
    return rng.integers(2, size=n).astype(float) if name == "logistic" else rng.normal(size=n)


def make_raw(name, n, rng, scale=3.0):
    """Return raw predictions for `n` rows."""
    shape = (n, N_OUTPUTS) if make_loss(name).vector_output else (n,)
    return scale * rng.normal(size=shape)


def make_problem(loss="logistic", penalty="l2", *, n_samples=200, n_features=3, alpha=0.1,
                 free_rows=0, epsilon=1.0, delta=1e-5, fit_intercept=True, data_norm=1.0,
                 dtype="float64"):
    return Problem(n_samples=n_samples, loss=make_loss(loss), epsilon=epsilon, delta=delta,
                   model=make_model(loss, n_features, fit_intercept, data_norm),
                   penalty=PENALTIES[penalty](alpha, 0.5, free_rows), dtype=dtype)


def solver_problems(name):
    """Return the grid of problems on which the solver `name` is exercised."""
    problems = [
        make_problem(loss, penalty, alpha=alpha, n_samples=n, epsilon=epsilon, data_norm=norm,
                     free_rows=int(not SOLVERS[name].penalizes_intercept))
        for loss in LOSSES for penalty in PENALTIES
        for alpha, n, epsilon, norm in [(0.0, 2, 1.0, 1.0), (0.1, 300, 0.1, 1.0),
                                        (10.0, 50_000, 8.0, 1e-3), (1e-3, 10**7, 1.0, 50.0)]]
    pure = [replace(problem, delta=0.0) for problem in problems]
    return problems + (pure if "delta > 0" not in SOLVERS[name].requires else [])


def training_rows(estimator, n=80, n_features=4, seed=0):
    """Return rows and targets that `estimator` can be fitted on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    signal = X[:, 0] + 0.1 * rng.normal(size=n)
    return X, (signal > 0).astype(int) if is_classifier(estimator) else np.clip(signal, -1, 1)


def _cases(names):
    return [pytest.param(name, id=name) for name in sorted(names)]


every_estimator = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(ESTIMATORS.items())])
every_fit = pytest.mark.parametrize("cls, solver", [
    pytest.param(cls, solver, id=f"{name}-{solver}")
    for name, cls in sorted(ESTIMATORS.items()) for solver in sorted(SOLVERS)])
every_loss = pytest.mark.parametrize("name", _cases(LOSSES))
every_penalty = pytest.mark.parametrize("name", _cases(PENALTIES))
every_solver = pytest.mark.parametrize("name", _cases(SOLVERS))

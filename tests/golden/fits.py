"""Fits under one fixed stream: what a change of structure must leave as it is."""

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from tests.instruments import fixed_streams
from tests.registry import (
    ESTIMATORS,
    coefficients,
    documented_solvers,
    is_linear,
    make_estimator,
    takes_several_classes,
    training_rows,
)

__all__ = ["CASES", "fitted"]

_ROWS = 120
#: Budgets at which every solver moves well away from its start.
_BUDGET = {"epsilon": 4.0, "delta": 1e-4}


def _cases():
    for name, cls in sorted(ESTIMATORS.items()):
        for solver in sorted(documented_solvers(cls)):
            variants = ["dense", "single", "weights"]
            if is_linear(cls):
                variants += ["sparse", "raw"]
            if is_classifier(cls()) and takes_several_classes(cls, solver):
                variants += ["several"]
            yield from ((name, solver, variant) for variant in variants)


CASES = list(_cases())


def fitted(name, solver, variant):
    """Return everything trained in one case, and what it cost, as one vector of float64."""
    cls = ESTIMATORS[name]
    settings = {"precondition": False} if variant == "raw" else {}
    model = make_estimator(cls, solver, **_BUDGET, **settings)
    X, y = training_rows(model, n=_ROWS)
    weights = np.linspace(0.5, 1.0, _ROWS) if variant == "weights" else None
    if variant == "single":
        X = X.astype(np.float32)
    if variant == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    if variant == "several":
        y = y + (X[:, 1] > 0.5)
    with fixed_streams():
        model.fit(X, y, sample_weight=weights)
    parts = [coefficients(model).astype(np.float64), [model.n_iter_],
             [model.privacy_.noise_multiplier]]
    return np.concatenate([np.ravel(part) for part in parts])

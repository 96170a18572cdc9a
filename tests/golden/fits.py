"""Fits under one fixed stream: what a change of structure must leave as it is."""

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

import dpsk
from tests.estimators.raw_tables import table, targets
from tests.instruments import fixed_streams, repeated_stream
from tests.registry import (
    ADDITIVE,
    BOOSTED,
    CLASS_MODELS,
    ESTIMATORS,
    TREES,
    UNLABELED,
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


#: Models of classes, which have no solver.
_OF_CLASSES = [(name, "moments", variant) for name in sorted(CLASS_MODELS)
               for variant in ("dense", "single", "weights", "groups")]
_UNLABELED = [(name, "moments", variant) for name in sorted(UNLABELED)
              for variant in ("dense", "single")]
#: Models of raw tables.
_OF_TABLES = [(name, "tables", variant) for name in sorted({**ADDITIVE, **BOOSTED})
              for variant in ("dense", "weights", "groups")]
_TREES = [(name, "nodes", variant) for name in sorted(TREES)
          for variant in ("dense", "single", "weights", "groups")]
CASES = [*_cases(), *_OF_CLASSES, *_UNLABELED, *_OF_TABLES, *_TREES]


def fitted(name, solver, variant):
    """Return everything trained in one case, and what it cost, as one vector of float64."""
    if name in CLASS_MODELS:
        return _of_classes(CLASS_MODELS[name], variant)
    if name in UNLABELED:
        return _unlabeled(getattr(dpsk, name), variant)
    if solver == "tables":
        return _of_tables(getattr(dpsk, name), variant)
    if name in TREES:
        return _of_trees(TREES[name], variant)
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


def _unlabeled(cls, variant):
    """Return the same of what takes no targets."""
    X, _ = training_rows(ESTIMATORS["DPRidge"](), n=_ROWS)
    with fixed_streams():
        model = cls(**_BUDGET, feature_range=(-4.0, 4.0), data_norm=2.0).fit(
            X.astype(np.float32 if variant == "single" else np.float64))
    return np.concatenate([np.ravel(np.asarray(getattr(model, name), np.float64))
                           for name in model.privacy_.released])


def _of_tables(cls, variant):
    """Return the same of a model of a raw table, by what it predicts."""
    X = table(_ROWS)
    y = targets(cls, X)
    declared = {"max_iter": 3} if cls.__name__ in BOOSTED else {}
    if not is_classifier(cls()):
        declared["target_bounds"] = (-2.0, 3.0)
    weights = np.linspace(0.5, 1.0, _ROWS) if variant == "weights" else None
    groups = np.arange(_ROWS) // 2 if variant == "groups" else None
    with repeated_stream():
        model = cls(epsilon=20.0, delta=1e-4, max_categories=24, random_state=0,
                    **declared).fit(X, y, sample_weight=weights, groups=groups)
    raw = model.decision_function(X) if is_classifier(model) else model.predict(X)
    return np.append(raw.astype(np.float64), [model.n_iter_, model.privacy_.noise_multiplier])


def _of_trees(cls, variant):
    """Return the same of trees of declared columns."""
    model = cls(**_BUDGET, max_depth=3, columns=dict.fromkeys(range(4), (-4.0, 4.0)),
                **({} if is_classifier(cls()) else {"target_bounds": (-1.0, 1.0)}))
    X, y = training_rows(model, n=_ROWS)
    weights = np.linspace(0.5, 1.0, _ROWS) if variant == "weights" else None
    groups = np.arange(_ROWS) // 2 if variant == "groups" else None
    if "n_estimators" in model.get_params() or is_classifier(model):
        model.set_params(random_state=0)
    with fixed_streams():
        model.fit(X.astype(np.float32 if variant == "single" else np.float64), y, weights, groups)
    return np.concatenate([np.ravel(part) for tree in model._trees
                           for part in (*tree.splits, tree.means, tree.counts, tree.noise)])


def _of_classes(cls, variant):
    """Return the same of a model of classes, whose rows are not negative."""
    declared = {"feature_range": (0.0, 4.0), "data_norm": 2.0, "min_categories": 5}
    known = cls._get_param_names()
    model = cls(**_BUDGET, **{key: value for key, value in declared.items() if key in known})
    X, y = training_rows(model, n=_ROWS)
    y = y + (X[:, 1] > 0.5)
    X = np.abs(X).astype(np.float32 if variant == "single" else np.float64)
    weights = np.linspace(0.5, 1.0, _ROWS) if variant == "weights" else None
    groups = np.arange(_ROWS) // 2 if variant == "groups" else None
    with fixed_streams():
        model.fit(X, y, sample_weight=weights, groups=groups)
    parts = [part for name in model.privacy_.released for value in [getattr(model, name)]
             for part in (value if isinstance(value, list) else [value])]
    return np.concatenate([np.ravel(np.asarray(part, np.float64)) for part in parts])

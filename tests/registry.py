"""Everything that tests parametrize over, read from the package's own registries.

A new estimator, solver, loss or penalty is picked up here and meets every contract test.
"""

import inspect
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor

import dpsk
from dpsk import cluster, covariance, model_selection, preprocessing
from dpsk._models import LinearModel
from dpsk._models.clipping import HEADROOM
from dpsk._objective.losses import LOSSES, HuberizedHinge
from dpsk._objective.penalties import CONSTRAINTS, PENALTIES
from dpsk._objective.requirements import (
    BOUNDED_CURVATURE,
    L2_PENALTY,
    POSITIVE_DELTA,
    RIDGE_OR_NONE,
    SCALAR_PREDICTION,
    SQUARED_LOSS,
    check_requirements,
)
from dpsk._privacy.batches import FullBatch
from dpsk._problem import Geometry, Problem
from dpsk._queries import (
    CheckedGradients,
    Curvatures,
    Differences,
    Gradients,
    LastIterate,
    LeastSquares,
    Output,
    PerturbedObjective,
    SaddleDifferences,
    SaddleGradients,
    Vertices,
)
from dpsk._solvers import SADDLE_SOLVERS, SOLVERS
from dpsk.additive._base import AdditiveModel
from dpsk.ensemble._base import BoostedTrees
from dpsk.generative._base import Sampler
from dpsk.linear_model._base import LinearEstimator
from dpsk.naive_bayes._base import ClassModel
from dpsk.preprocessing._numeric import NumericTransformer
from dpsk.tree._nodes import OneTree, SumTrees

ALL_ESTIMATORS = {name: getattr(dpsk, name) for name in dpsk.__all__
                  if inspect.isclass(getattr(dpsk, name))
                  and issubclass(getattr(dpsk, name), BaseEstimator)}
#: What draws rows, and predicts nothing.
SAMPLERS = {name: cls for name, cls in ALL_ESTIMATORS.items() if issubclass(cls, Sampler)}
#: What predicts from raw tables; tests of its own cover it, as it has no solver to choose.
ADDITIVE = {name: cls for name, cls in ALL_ESTIMATORS.items() if issubclass(cls, AdditiveModel)}
#: What predicts by laws of the classes' rows; tests of its own cover it, as it has no solver.
CLASS_MODELS = {name: cls for name, cls in ALL_ESTIMATORS.items() if issubclass(cls, ClassModel)}
#: What is boosted on top of these; the same holds for it.
BOOSTED = {name: cls for name, cls in ALL_ESTIMATORS.items() if issubclass(cls, BoostedTrees)}
#: Trees of sums of targets; the same holds for these.
TREES = {name: cls for name, cls in ALL_ESTIMATORS.items() if issubclass(cls, SumTrees)}
#: What maps columns of numbers.
NUMERIC = {name: cls for name, cls in ALL_ESTIMATORS.items()
           if issubclass(cls, NumericTransformer)}
#: What groups rows without targets, or tells how they vary; tests of their own cover them.
UNLABELED = {*cluster.__all__, *covariance.__all__}
#: What makes features of tables, and what holds others; tests of their own cover them.
AROUND_FITS = {"DPPipeline", *preprocessing.__all__, *model_selection.__all__}
#: What predicts from rows and targets, by a solver; values of states are fitted on transitions.
ESTIMATORS = {name: cls for name, cls in ALL_ESTIMATORS.items()
              if name not in {*SAMPLERS, *ADDITIVE, *BOOSTED, *TREES, *CLASS_MODELS,
                              *UNLABELED, *AROUND_FITS}
              and "next_states" not in inspect.signature(cls.fit).parameters}
LINEAR = {name: cls for name, cls in ESTIMATORS.items() if issubclass(cls, LinearEstimator)}
#: The solvers of all estimators.
ALL_SOLVERS = {**SOLVERS, **SADDLE_SOLVERS}
#: Penalties that are sets, each with a radius, and those that are none.
SETS, WEIGHTED = sorted(CONSTRAINTS), sorted(set(PENALTIES) - CONSTRAINTS)
#: Parameters of linear models that others do without.
LINEAR_ONLY = {"fit_intercept", "penalty", "radius"}
#: What keeps fits of networks short.
NETWORK_PARAMS = {"hidden_layer_sizes": (8,), "max_iter": 30}

N_OUTPUTS = 3
#: Arguments of the losses that need some.
LOSS_ARGUMENTS = {"huber": (0.3,), "huberized_hinge": (0.7,),
                  "one_vs_rest": (HuberizedHinge(0.7), N_OUTPUTS), "pinball": (0.7, 0.2)}
#: Parameters without which a solver refuses the default problem.
_L1_BALL = {"penalty": "l1_ball", "radius": 1.5}
SOLVER_PARAMS = {"accmd": _L1_BALL, "frank_wolfe": _L1_BALL, "last_iterate": {"alpha": 0.1}}
#: A clip norm that leaves most rows alone, for losses that bound no gradient.
WIDE_CLIP = 10.0


def make_loss(name):
    return LOSSES[name](*LOSS_ARGUMENTS.get(name, ()))


def make_penalty(name, alpha=0.1, l1_ratio=0.5, radius=1.5, unpenalized=0):
    return PENALTIES[name](alpha=alpha, l1_ratio=l1_ratio, radius=radius, unpenalized=unpenalized)


def usable_clip(loss, model, clip_norm=np.inf):
    """Return `clip_norm`, at most what clips nothing, or WIDE_CLIP where nothing does that."""
    full = loss.lipschitz * model.radius / HEADROOM
    return min(clip_norm, full if np.isfinite(full) else WIDE_CLIP)


def make_model(name, n_features=3, fit_intercept=True, data_norm=1.0):
    """Return a linear model with the raw prediction that the loss `name` takes."""
    outputs = N_OUTPUTS if make_loss(name).vector_output else None
    return LinearModel(n_features, outputs, fit_intercept, data_norm)


def make_targets(name, n, rng):
    """Return `n` targets that the loss `name` takes."""
    if make_loss(name).vector_output:
        return rng.integers(N_OUTPUTS, size=n)
    if name == "logistic":
        return rng.integers(2, size=n).astype(float)
    if name == "capped_poisson":
        # The ends of the interval are where the derivative's bounds are met.
        return np.where(rng.random(n) < 0.5, rng.random(n), rng.integers(2, size=n))
    signs = "hinge" in name or name == "sigmoid"
    return np.sign(rng.normal(size=n)) if signs else rng.normal(size=n)


def make_raw(name, n, rng, scale=3.0):
    """Return raw predictions for `n` rows."""
    shape = (n, N_OUTPUTS) if make_loss(name).vector_output else (n,)
    return scale * rng.normal(size=shape)


def make_problem(loss="logistic", penalty="l2", *, n_samples=200, n_features=3, alpha=0.1,
                 unpenalized=0, epsilon=1.0, delta=1e-5, fit_intercept=True, data_norm=1.0,
                 effective_rank=None, weight_bound=1.0):
    return Problem(n_samples=n_samples, loss=make_loss(loss), epsilon=epsilon, delta=delta,
                   model=make_model(loss, n_features, fit_intercept, data_norm),
                   penalty=make_penalty(penalty, alpha, unpenalized=unpenalized),
                   geometry=None if effective_rank is None else Geometry(effective_rank),
                   weight_bound=weight_bound)


def problem_for(name, **changes):
    """Return an ordinary problem that the solver `name` takes."""
    changes = {"penalty": SOLVER_PARAMS.get(name, {}).get("penalty", "l2"), **changes}
    return make_problem("squared" if SQUARED_LOSS in SOLVERS[name].requires else "logistic",
                        **changes)


def is_met(name, problem):
    """Whether the solver `name`, at its defaults, takes `problem`."""
    try:
        check_requirements(name, SOLVERS[name](), problem)
    except ValueError:
        return False
    return True


def solver_problems(name):
    """Return the grid of problems on which the solver `name` is exercised."""
    unpenalized = int(not SOLVERS[name].penalizes_intercept)
    problems = [
        make_problem(loss, penalty, alpha=alpha, n_samples=n, epsilon=epsilon, data_norm=norm,
                     unpenalized=unpenalized)
        for loss in LOSSES for penalty in PENALTIES
        for alpha, n, epsilon, norm in [(0.0, 2, 1.0, 1.0), (0.1, 300, 0.1, 1.0),
                                        (10.0, 50_000, 8.0, 1e-3), (1e-3, 10**7, 1.0, 50.0)]]
    if SOLVERS[name].whitens:
        problems += [make_problem(loss, n_samples=n, n_features=9, fit_intercept=False,
                                  alpha=0.0, effective_rank=9.0)
                     for loss in LOSSES for n in (2, 10**6)]
    # Solvers that rest on the curvature of a row's loss get bounded weights only.
    unbounded = [] if BOUNDED_CURVATURE in SOLVERS[name].requires else [np.inf]
    problems += [make_problem(loss, weight_bound=bound, unpenalized=unpenalized)
                 for loss in LOSSES for bound in (0.01, 1e10, *unbounded)]
    problems += [replace(problem, delta=0.0) for problem in problems]
    return [problem for problem in problems if is_met(name, problem)]


@cache
def documented_solvers(cls):
    """Return the names that an estimator's docstring offers for `solver`."""
    (offer,) = re.findall(r"^solver : \{(.*?)\}", inspect.getdoc(cls), re.MULTILINE | re.DOTALL)
    return frozenset(re.findall(r'"(\w+)"', offer)) - {"auto"}


def needs_delta(solver):
    """Return whether a solver refuses a delta of zero."""
    return POSITIVE_DELTA in ALL_SOLVERS[solver].requires


def takes_no_set(cls, solver):
    """Return whether a pair is refused wherever the estimator needs its ball, by public facts."""
    bears_none = {L2_PENALTY, RIDGE_OR_NONE} & set(ALL_SOLVERS[solver].requires)
    return cls is dpsk.DPLasso and bool(bears_none)


def where_sets_may_be_needed(mark):
    """Return the cases of a mark but for those that are refused there."""
    names, cases = mark.args
    return pytest.mark.parametrize(names, [
        case for case in cases if not takes_no_set(*case.values)])


def auto_solvers(cls):
    """Return what "auto" may stand for: what is offered, and more that a docstring names."""
    (text,) = re.findall(r"^solver : .*\n((?: +.*\n)+)", inspect.getdoc(cls), re.MULTILINE)
    return documented_solvers(cls) | set(re.findall(r'"(\w+)"', text))


def declared(cls):
    """Return the bounds that stand where an estimator learns none, so that nothing is learnt."""
    known = inspect.signature(cls.__init__).parameters
    bounds = {"data_norm": 1.0, "target_bounds": getattr(cls, "_default_bounds", None)}
    return {name: value for name, value in bounds.items()
            if name in known and known[name].default == "auto"}


def make_estimator(cls, solver, **params):
    """Return an estimator with `solver` and what it cannot do without, of declared bounds."""
    params = {**declared(cls), **SOLVER_PARAMS.get(solver, {}), **params}
    if not is_linear(cls):
        short = {key: NETWORK_PARAMS[key] for key in set(NETWORK_PARAMS).difference(
            ALL_SOLVERS[solver].ignores)}
        params = {**short, **{key: params[key] for key in params if key not in LINEAR_ONLY}}
    elif params.get("penalty", cls().penalty) in SETS:
        params.pop("alpha", None)
    return cls(**{"solver": solver, **params})


def takes_several_classes(cls, solver="auto"):
    """Whether a classifier, with the solver `solver`, takes more than two classes."""
    requires = ALL_SOLVERS[solver].requires if solver in ALL_SOLVERS else ()
    return cls().__sklearn_tags__().classifier_tags.multi_class and (
        SCALAR_PREDICTION not in requires)


def takes_groups(cls):
    """Whether an estimator learns of public groups, which its fit is told of for every row."""
    return "group_labels" in inspect.signature(cls).parameters


def protects_groups(cls):
    """Whether a fit may be told whose row each is, to protect whole groups."""
    return "groups" in inspect.signature(cls.fit).parameters and not takes_groups(cls)


def takes_pure_epsilon(cls):
    """Whether an estimator takes delta = 0 with the solver that it then chooses."""
    return any(POSITIVE_DELTA not in ALL_SOLVERS[name].requires
               for name in documented_solvers(cls))


#: Of the sums behind answers of each kind; those of `Gradients` follow from the batches.
_ARITHMETIC = {
    CheckedGradients: "grid", Curvatures: "grid", Differences: "float", LastIterate: "snapped",
    LeastSquares: "grid", Output: "snapped", PerturbedObjective: "snapped",
    SaddleDifferences: "float", SaddleGradients: "float", Vertices: "float"}


def arithmetic_of(solver):
    """Return what the sums of a solver are made of, of linear models and rows in memory."""
    family = ALL_SOLVERS[solver]
    if family.asks is not Gradients:
        return _ARITHMETIC[family.asks]
    # Sums over all rows are exact, those over random batches are not.
    problem = problem_for(solver)
    given = {} if "batch_size" in family.ignores else {"batch_size": 16}
    asked = family(**given).configured(problem).queries(problem)
    return "grid" if asked.answers.batches == FullBatch() else "float"


def plain_solver(cls):
    """Return the solver that stands for others of an estimator: "gd" where it is taken."""
    return next(name for name in ("gd", "sgda") if name in documented_solvers(cls))


def batch_solver(cls):
    """Return the first solver of an estimator that reads Poisson batches of its rows."""
    return next(name for name in ("sgd", "sgda") if name in documented_solvers(cls))


def is_linear(cls):
    """Whether the estimator's raw prediction is linear in its rows."""
    return issubclass(cls, LinearEstimator)


def coefficients(model):
    """Return everything trained on a fitted estimator as one vector."""
    own = next((each for each in ("coef_", "term_coef_") if hasattr(model, each)), None)
    names = [own, "intercept_"] if own else ["coefs_", "intercepts_"]
    if getattr(model, "linear_coef_", None) is not None:
        names.append("linear_coef_")
    parts = [part for name in names for part in _parts(getattr(model, name))]
    return np.concatenate([np.ravel(part) for part in parts])


def _parts(value):
    return value if isinstance(value, list) else [value]


def plain_bounds(estimator):
    """Return the bounds on targets that an estimator was given, or those that it falls back to."""
    bounds = estimator.target_bounds
    return estimator._default_bounds if bounds in ("auto", None) else bounds


def training_rows(estimator, n=80, n_features=4, seed=0):
    """Return rows and targets that `estimator` can be fitted on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    signal = X[:, 0] + 0.1 * rng.normal(size=n)
    if is_classifier(estimator) or isinstance(estimator, Sampler):
        return X, (signal > 0).astype(int)
    return X, np.clip(signal, *plain_bounds(estimator))


@cache
def pair_marks(cls, solver, linear=False):
    """Return the marks of a pair: every run tries a part of them, `make audit` all.

    That part has every estimator, with "gd" and "sgda" where it takes them, every solver with the
    first classifier, of all or of `linear` ones, that takes it, and with the first regressor where
    none does; of other solvers the first of every family with the first regressor.
    """
    alike = [other for _, other in sorted((LINEAR if linear else ESTIMATORS).items(), reverse=True)
             if is_classifier(other()) == is_classifier(cls())
             and solver in documented_solvers(other)]
    # The bend of its loss is so sharp that steps are by the thousand.
    alike.sort(key=lambda other: other is dpsk.DPQuantileRegressor)
    core = solver in ("gd", "sgda") or "gd" not in documented_solvers(cls) or (
        alike[0] is cls and not (is_tried_by_a_classifier(cls, solver)
                                 and solver != _first_of_family(solver)))
    return () if core else (pytest.mark.audit,)


def _first_of_family(solver):
    """Return the first solver, but for "gd", in the folder of a solver."""
    family = ALL_SOLVERS[solver].__module__.rpartition(".")[0]
    return min(name for name, other in ALL_SOLVERS.items()
               if name != "gd" and other.__module__.rpartition(".")[0] == family)


@cache
def is_tried_by_a_classifier(cls, solver):
    """Whether what only a solver's kind of rows can break is seen of a classifier already."""
    return is_regressor(cls()) and solver not in ("gd", "sgda") and any(
        is_classifier(other()) and solver in documented_solvers(other)
        for other in ESTIMATORS.values())


def _cases(names):
    return [pytest.param(name, id=name) for name in sorted(names)]


every_estimator = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(ESTIMATORS.items())])
every_additive_model = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(ADDITIVE.items())])
every_class_model = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(CLASS_MODELS.items())])
every_boosted_model = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(BOOSTED.items())])
every_tree_model = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(TREES.items()) if issubclass(cls, OneTree)])
every_sampler = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(SAMPLERS.items())])
every_public_estimator = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(ALL_ESTIMATORS.items())])
every_bounded_regressor = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(ALL_ESTIMATORS.items())
    if "target_bounds" in cls._get_param_names() and is_regressor(cls())])
#: Those that are fitted on rows, with targets or without.
every_row_estimator = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted({**ESTIMATORS, **SAMPLERS}.items())])
every_fit = pytest.mark.parametrize("cls, solver", [
    pytest.param(cls, solver, id=f"{name}-{solver}", marks=pair_marks(cls, solver))
    for name, cls in sorted(ESTIMATORS.items()) for solver in sorted(documented_solvers(cls))])
every_fit_with_groups = pytest.mark.parametrize("cls, solver", [
    pytest.param(cls, solver, id=f"{name}-{solver}")
    for name, cls in sorted(ESTIMATORS.items()) if takes_groups(cls)
    for solver in sorted(documented_solvers(cls))])
every_protector_of_groups = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(ESTIMATORS.items())
    if protects_groups(cls)])
every_linear_estimator = pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(LINEAR.items())])
every_linear_fit = pytest.mark.parametrize("cls, solver", [
    pytest.param(cls, solver, id=f"{name}-{solver}", marks=pair_marks(cls, solver, linear=True))
    for name, cls in sorted(LINEAR.items()) for solver in sorted(documented_solvers(cls))])
every_loss = pytest.mark.parametrize("name", _cases(LOSSES))
every_penalty = pytest.mark.parametrize("name", _cases(PENALTIES))
every_saddle_solver = pytest.mark.parametrize("name", _cases(SADDLE_SOLVERS))
every_solver = pytest.mark.parametrize("name", _cases(SOLVERS))

"""A bad parameter is a ValueError naming it, its value and a remedy, before any noise."""

import inspect
import math
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from dpsk import DPLinearSVC, DPLogisticRegression, DPPoissonRegressor
from dpsk.exceptions import PrivacyWarning
from tests.estimators.pairs import bounds_gradients, build
from tests.loops import in_a_row
from tests.registry import (
    ALL_SOLVERS,
    ESTIMATORS,
    LINEAR,
    SETS,
    WEIGHTED,
    batch_solver,
    coefficients,
    declared,
    documented_solvers,
    every_estimator,
    every_linear_estimator,
    every_row_estimator,
    is_linear,
    needs_delta,
    plain_solver,
    takes_pure_epsilon,
    takes_several_classes,
    training_rows,
)

_REMEDY = ("must be", "use ", "leave ", "set ", "lower ", "declare ", "it takes", "raise ")

# Parameter, and values that every estimator refuses.
_REFUSED = {
    "epsilon": [0, 0.0, -1.0, math.nan, -math.inf, "1", None, True, 1j, [1.0], 10**400],
    "delta": [-1e-9, 1.0, 1, 2.0, math.nan, math.inf, "auto", False],
    "alpha": [-1e-9, math.nan, math.inf, "0", None],
    "solver": ["lbfgs", None, "GD", 1],
    "max_iter": [0, -5, 1.5, "10", True, math.inf],
    "learning_rate": [0, -1.0, math.nan, math.inf, "constant"],
    "batch_size": [0, -1, 2.5, "all", True],
    "clip_norm": [0, 0.0, -1.0, math.nan, -math.inf, "auto", 1e-30, 1e101],
    "data_norm": [0, -1.0, math.nan, math.inf, "max", 1e-30, 1e30],
    "random_state": [-1, 1.5, "seed", True],
    "verbose": ["yes", -1, 1.5, None, [1], math.nan],
    "solver_options": [["iterate"], "iterate", {"iterate": "best"}, {"iterate": 3},
                       {"unknown": 1}],
}
# What those estimators refuse that have the parameter at all.
_REFUSED_WHERE_KNOWN = {
    "penalty": ["l3", None, "none", 2],
    "l1_ratio": [-0.1, 1.1, math.nan, None],
    "fit_intercept": ["yes", None, 1, 0.0],
    "precondition": ["yes", None, 1, "always", 0.0],
    "data_norm_inf": [0, -1.0, math.nan, math.inf, "max", 1e-30, 1e30, True],
    "positive_ratio": [0, 1, 0.0, -0.2, 1e-5, math.nan, math.inf, "half", True],
    "group_labels": [[1], [], "ab", 3, [[0, 1]], ["a", "a"]],
    "group_shares": ["even", 0.5, [0.5, 0.5], {}, {0: 0.5}, {0: 0.5, 2: 0.5}, {0: 0.0, 1: 1.0},
                     {0: math.nan, 1: 0.5}, {0: 2.0, 1: 0.5}, {0: "half", 1: 0.5}],
    "group_penalty": [-1e-9, math.nan, math.inf, "0", None, True],
    "hidden_layer_sizes": [0, -1, (0,), (3, 1.5), "128", None, ("a",), True, 10**7],
    "activation": ["logistic", None, 1],
    "quantile": [0, 1, 0.0, 1.0, -0.1, 1.1, 50, math.nan, math.inf, "0.5", None, True],
    "threshold": [0, 1e-30, -1.0, math.nan, math.inf, None],
    "target_bounds": [(1.0, -1.0), (0.0, 0.0), (0.0, math.inf), (math.nan, 1.0), (1.0,),
                      (1.0, 2.0, 3.0), 5.0, ("a", "b"), (0.0, 1.1e30), (0.0, 5e-324)],
    "classes": [[1], [], "ab", 3, [[0, 1]], ["a", "a"]],
    "class_weight": ["equal", 2.0, [1.0, 2.0], {0: 0.0}, {0: -1.0}, {1: math.nan}, {0: math.inf},
                     {0: None}, {0: "1"}, {0: True}, {0: 1e11}, {0: 1e-11}, {0: 5e-324}],
    "loss": ["hinge", None, "absolute_error", 1],
}
_REFUSED_BY = {
    **{cls: {"data_norm": [None]} for cls in LINEAR.values()},
    DPPoissonRegressor: {"data_norm": [None],
                         "target_bounds": [(-1.0, 1.0), (-1e-9, 1.0), (-2.0, -1.0)]},
}
_EVERYWHERE = [(name, value) for name, values in _REFUSED.items() for value in values]
_SOMEWHERE = [(cls, name, value) for _, cls in sorted(ESTIMATORS.items())
              for name, values in _REFUSED_WHERE_KNOWN.items() if name in cls().get_params()
              for value in values]
_SOMEWHERE += [(cls, name, value) for cls, table in _REFUSED_BY.items()
               for name, values in table.items() for value in values]
_GAUSSIAN = [pytest.param(cls, solver, id=f"{name}-{solver}")
             for name, cls in sorted(ESTIMATORS.items())
             for solver in sorted(documented_solvers(cls))
             if needs_delta(solver)]


pytestmark = pytest.mark.usefixtures("silent")


def refusal(model, X=None, y=None):
    """Return the text of the ValueError that the fit raises, having left nothing behind."""
    if X is None:
        X, y = training_rows(type(model)())
    with pytest.raises(ValueError) as caught:
        model.fit(X, y)
    fitted = {name for name in vars(model) if name.endswith("_")}
    # What validation notes of the shape is public.
    assert fitted <= {"n_features_in_", "feature_names_in_"}
    text = str(caught.value)
    assert any(word in text for word in _REMEDY), text
    return text


@every_estimator
@in_a_row("name, value", _EVERYWHERE)
def test_a_bad_value_is_refused(cls, name, value):
    # Options of the solver are checked by one that has some.
    solver = {"solver": plain_solver(cls)} if name == "solver_options" else {}
    text = refusal(cls(**{name: value, **solver}))
    assert name in text
    if name == "random_state":
        assert type(value).__name__ in text
    elif name != "solver_options":
        assert repr(value) in text
    elif isinstance(value, dict):
        (key, option), = value.items()
        assert repr(key) in text or key in text
        assert key == "unknown" or repr(option) in text


@every_estimator
def test_a_refusal_names_auto_where_it_is_the_default(cls):
    own = {name for name, each in inspect.signature(cls).parameters.items()
           if each.default == "auto" and name != "solver"}
    for name in own:
        text = refusal(cls(**{name: "no such word"}))
        assert text.startswith(f"{name}='no such word': must be") and "'auto'" in text, text


@in_a_row("cls, name, value", _SOMEWHERE)
def test_a_bad_value_of_its_own_is_refused(cls, name, value):
    text = refusal(cls(**{name: value}))
    assert text.startswith(name)
    shown = next(iter(value.values()), value) if isinstance(value, dict) else value
    assert repr(shown) in text


@every_linear_estimator
@in_a_row("penalty", SETS)
@in_a_row("radius", [None, 0, -1.0, math.nan, math.inf, "1", True])
def test_a_set_needs_a_radius(cls, penalty, radius):
    if radius is None and cls().get_params()["penalty"] in SETS:
        return  # Which has a usual one.
    text = refusal(cls(penalty=penalty, radius=radius, solver=plain_solver(cls)))
    assert f"radius={radius!r}" in text and repr(penalty) in text


@every_linear_estimator
@in_a_row("penalty", WEIGHTED)
@in_a_row("radius", [2.0, 0, -1.0, "1", math.nan])
def test_a_radius_without_a_set_is_refused(cls, penalty, radius):
    text = refusal(cls(penalty=penalty, radius=radius, alpha=0.1))
    assert text.startswith(f"radius={radius!r}: must be") and repr(penalty) in text


@every_linear_estimator
@in_a_row("penalty", ["l1", "elasticnet"])
@in_a_row("alpha", [0, 0.0, np.float64(0)])
def test_a_penalty_of_strength_zero_that_was_asked_for_is_refused(cls, penalty, alpha):
    text = refusal(cls(penalty=penalty, alpha=alpha))
    assert text.startswith(f"alpha={alpha!r}: must be > 0") and repr(penalty) in text


@every_linear_estimator
@in_a_row("penalty", SETS)
@in_a_row("alpha", [0.1, np.float32(2.0)])
def test_a_strength_that_a_set_ignores_is_warned_of(cls, penalty, alpha):
    """`DPLasso(alpha=0.1)` was fitted to a ball, as if nothing had been asked for."""
    asked = cls(penalty=penalty, alpha=alpha, radius=1.0, solver=plain_solver(cls))
    with pytest.warns(match=re.escape(f"alpha={alpha!r}: has no effect with penalty={penalty!r}")):
        asked._check_params()
    usual = cls(penalty=penalty, radius=1.0, solver=plain_solver(cls))
    usual._check_params()
    clone(usual).set_params(alpha=0.0)._check_params()


@every_estimator
def test_every_parameter_has_its_constraint_declared(cls):
    with_labels = {"classes", "class_weight", "group_labels", "group_shares"}
    elsewhere = {"radius", "solver", *with_labels}
    assert set(cls().get_params()) - set(cls._constraints) <= elsewhere
    for name, value in cls().get_params().items():
        if name in cls._constraints:
            cls._constraints[name](name, value)


@every_estimator
def test_class_weights_that_cannot_be_had_are_refused_with_the_reason(cls):
    if not is_classifier(cls()):
        assert "class_weight" not in cls().get_params()
        return
    if not cls._balances:
        assert "'balanced' corrects log-odds" in refusal(cls(class_weight="balanced"))
    text = refusal(cls(class_weight={77: 1.0}))
    assert "77" in text and "not a class" in text and "classes=" in text
    # A declared class that does not occur may have a weight.
    X, y = training_rows(cls())
    labels, zeros = ([0, 1, 2], y) if takes_several_classes(cls) else ([0, 2], np.zeros(len(y)))
    with pytest.raises(pytest.fail.Exception, match="noise was drawn"):
        cls(classes=labels, class_weight={2: 3.0}).fit(X, zeros)


@every_row_estimator
def test_warm_start_is_no_parameter(cls):
    with pytest.raises(TypeError, match="warm_start"):
        cls(warm_start=True)
    with pytest.raises(ValueError, match="warm_start"):
        cls().set_params(warm_start=True)


@every_linear_estimator
def test_whitening_where_it_has_no_use_is_refused(cls):
    text = refusal(cls(precondition=True, solver=plain_solver(cls), delta=0.0))
    assert "precondition=True" in text or "delta=0.0" in text
    for solver in sorted(documented_solvers(cls)):
        if not ALL_SOLVERS[solver].whitens:
            assert "precondition=True" in refusal(build(cls, solver, precondition=True))


@every_estimator
def test_an_infinite_clip_norm_is_refused_where_the_loss_bounds_nothing(cls):
    if bounds_gradients(cls):
        return
    for solver in sorted({"gd", "sgd", "sgda", "privatediff"} & documented_solvers(cls)):
        text = refusal(cls(solver=solver, clip_norm=math.inf))
        assert "clip_norm=inf" in text and "finite" in text


def test_the_square_of_the_hinge_needs_a_clip():
    for solver in ("gd", "sgd"):
        text = refusal(DPLinearSVC(loss="squared_hinge", solver=solver, clip_norm=math.inf))
        assert "clip_norm=inf" in text
    text = refusal(DPLinearSVC(loss="squared_hinge", solver="output_perturbation"))
    assert "bounded slope" in text and "SquaredHinge" in text


@every_row_estimator
@pytest.mark.parametrize("value", [np.random.RandomState(0), np.random.default_rng(0)],
                         ids=["RandomState", "Generator"])
def test_a_generator_is_refused_as_copies_would_repeat_noise(cls, value):
    text = refusal(cls(random_state=value))
    assert "random_state" in text and type(value).__name__ in text
    assert "int >= 0" in text and "dpsk.testing.NoiseSeed(0)" in text


@pytest.mark.parametrize("cls, solver", _GAUSSIAN)
def test_delta_zero_is_refused_by_a_solver_with_gaussian_noise(cls, solver):
    text = refusal(build(cls, solver, delta=0))
    assert "delta=0.0" in text and "objective_perturbation" in text and repr(solver) in text


@every_estimator
def test_a_delta_that_sampling_alone_would_meet_is_refused(cls):
    # A row is in one of 5 batches of 1 in 80 with probability 0.061.
    model = cls(solver=batch_solver(cls), batch_size=1, max_iter=5, delta=0.07)
    text = refusal(model)
    assert "delta" in text and "0.07" in text


@pytest.mark.covering
@every_estimator
@pytest.mark.parametrize("delta, n, weak", [
    (None, 31, True), (None, 32, False), (0.9, 80, True), (0.05, 80, True), (0.002, 80, True),
    (0.001, 80, False), (0.0011, 2000, True), (0.0009, 2000, True), (0.0004, 2000, False)])
def test_a_weak_delta_is_warned_of_by_public_numbers_before_any_draw(cls, delta, n, weak):
    X, y = training_rows(cls(), n=n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(pytest.fail.Exception, match="noise was drawn"):
            cls(delta=delta, **declared(cls)).fit(X, y)
    texts = [str(each.message) for each in caught if each.category is PrivacyWarning]
    # How many rows carry a slope is another warning.
    texts = [text for text in texts if "delta" in text]
    assert len(texts) == weak
    used = 1 / n**2 if delta is None else delta
    stated = [float(text.split("delta of ")[1].split(",")[0]) for text in texts]
    # Rounded up.
    assert all(used <= each <= used * (1.0 + 1e-5) for each in stated)
    assert all(f"which is weak for n={n} rows" in text and "set delta" in text for text in texts)


@pytest.mark.parametrize("cls", [
    pytest.param(cls, id=name) for name, cls in sorted(ESTIMATORS.items())
    if "output_perturbation" in documented_solvers(cls)])
def test_steps_too_long_for_output_perturbation_are_refused_by_name(cls):
    text = refusal(cls(solver="output_perturbation", learning_rate=1e3))
    assert "learning_rate" in text and "1000.0" in text


def test_clipped_softmax_is_refused_by_output_perturbation():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    text = refusal(DPLogisticRegression(solver="output_perturbation", clip_norm=0.1), X, y)
    assert "clip_norm=0.1" in text


@every_row_estimator
def test_one_row_is_refused_as_scikit_learn_does(cls):
    X, y = training_rows(cls())
    with pytest.raises(ValueError, match=r"1 sample\(s\).*minimum of 2 is required"):
        cls().fit(X[:1], y[:1])


def test_one_class_is_refused_only_when_classes_are_inferred():
    X, _ = training_rows(DPLogisticRegression())
    text = refusal(DPLogisticRegression(), X, np.full(len(X), 77))
    assert "classes=" in text and "77" not in text


@pytest.mark.covering(most=4)
@every_estimator
def test_boundary_values_are_not_refused(cls, monkeypatch):
    monkeypatch.undo()
    X, y = training_rows(cls())
    unclipped = [{"delta": 0}] if is_linear(cls) and takes_pure_epsilon(cls) else []
    unclipped += [{"clip_norm": math.inf}] if bounds_gradients(cls) else []
    solver = plain_solver(cls)
    own = [{"l1_ratio": 1, "penalty": "elasticnet", "alpha": 1},
           {"penalty": "l1_ball", "radius": 1}, {"penalty": "l2_ball", "radius": 1e-9},
           {"penalty": "l1", "alpha": 1e-9}, {"precondition": np.True_, "solver": solver},
           {"precondition": False}]
    if not is_linear(cls):
        own = [{"hidden_layer_sizes": size} for size in (3, (), [4, np.int64(2)])]
    for params in [{"epsilon": 1}, {"epsilon": np.float32(1)}, {"data_norm": 1e-6},
                   {"clip_norm": 1e9, "solver": solver}, {"random_state": np.int64(3)},
                   {"max_iter": np.int64(2), "solver": solver},
                   {"solver": batch_solver(cls), "batch_size": 10**9},
                   {"solver_options": {}}, {"verbose": np.False_}, {"verbose": np.int64(0)},
                   *unclipped, *own]:
        model = cls(**params).fit(X, y)
        assert np.all(np.isfinite(coefficients(model)))


@every_row_estimator
def test_parameters_are_checked_before_rows_are_looked_at(cls):
    text = refusal(cls(epsilon=-1), object(), object())
    assert "epsilon=-1" in text


def test_auto_takes_a_solver_that_has_a_use_for_what_is_given(monkeypatch):
    monkeypatch.undo()
    X, y = training_rows(DPLogisticRegression())
    model = DPLogisticRegression(alpha=0.1, data_norm=3.0)
    assert model.fit(X, y).privacy_.solver == "objective_perturbation"
    assert model.set_params(max_iter=3).fit(X, y).privacy_.solver == "gd" and model.n_iter_ == 3
    with pytest.raises(ValueError, match="unknown"):
        model.set_params(solver_options={"unknown": 1}).fit(X, y)


@every_estimator
def test_a_failed_refit_keeps_the_earlier_fit_and_its_certificate_together(cls, monkeypatch):
    monkeypatch.undo()
    model = cls()
    X, y = training_rows(model)
    model.fit(X, y)
    coef, certificate = coefficients(model), model.privacy_
    with pytest.raises(ValueError, match="epsilon"):
        model.set_params(epsilon=-1).fit(X, y)
    assert np.array_equal(coefficients(model), coef) and model.privacy_ is certificate
    assert is_classifier(model) == hasattr(model, "classes_")

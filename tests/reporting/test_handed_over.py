"""Fits that were handed over count, and what learns by a parameter is said to learn."""

import inspect

import numpy as np
import pytest
from sklearn import config_context
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline

from dpsk import DPStandardScaler, privacy_report
from tests.budget.test_sharing import X, Y, model
from tests.holders import COMPILED, SHOWN, UNSHOWN
from tests.registry import ALL_ESTIMATORS

GRID = {"alpha": [0.0, 0.1]}
#: What the classes that hold others cannot do without.
HELD = {"estimator": model, "steps": lambda: [("model", model())], "param_grid": GRID.copy,
        "param_distributions": GRID.copy}


@pytest.mark.parametrize("name", COMPILED | UNSHOWN)
def test_a_model_in_what_compiled_code_holds_counts_or_is_not_known(name):
    given, whole = model().fit(X, Y), model().fit(X, Y)
    report = privacy_report(whole.set_params(classes=(COMPILED | UNSHOWN)[name](given)))
    if name in SHOWN | UNSHOWN:
        assert len(report.private) == 2 and report.is_private
    else:
        assert not report.is_private


class _Bits(np.random.PCG64):
    """Somebody's own generator of bits, which may be a number of a row."""


@pytest.mark.parametrize("bits, known", [(np.random.PCG64(0), True), (_Bits(0), False)])
def test_generators_are_known_by_what_they_draw_from(bits, known):
    for made in (np.random.Generator(bits), np.random.RandomState(bits)):
        assert privacy_report(model().fit(X, Y).set_params(classes=made)).is_private == known


@pytest.mark.covering(most=10)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(ALL_ESTIMATORS))
def test_what_any_parameter_holds_counts(name):
    cls, given = ALL_ESTIMATORS[name], model().fit(X, Y)
    needed = [key for key, each in inspect.signature(cls).parameters.items()
              if each.default is each.empty]
    whole = cls(**{key: HELD[key]() for key in needed})
    if "next_states" in inspect.signature(cls.fit).parameters:
        whole.set_params(reward_bounds=(0.0, 1.0)).fit(X, Y, next_states=X)
    else:
        # Some take counts.
        whole.fit(np.abs(X), Y)
    parameters = whole.get_params(deep=False)
    assert parameters
    for key, value in parameters.items():
        for held in (given, [given], {"a name": (given,)}, {given: "a key"}):
            setattr(whole, key, held)
            report = privacy_report(whole)
            assert {id(given.privacy_), id(whole.privacy_)} <= {
                id(part.certificate) for part in report.private}, key
        setattr(whole, key, value)


def test_what_may_learn_by_a_parameter_is_not_said_to_learn_nothing():
    report = privacy_report([RBFSampler(gamma="scale").fit(X)])
    assert not report.is_private and report.exposed


def test_requests_of_metadata_are_no_code():
    """As users set them to protect groups in pipelines and searches."""
    with config_context(enable_metadata_routing=True):
        asked = model().set_fit_request(groups=True, sample_weight=False)
        report = privacy_report(asked.fit(X, Y, groups=[k // 2 for k in range(60)]))
    assert report.is_private and not report.exposed


def test_steps_whose_names_begin_alike_count_each():
    steps = Pipeline([("a", DPStandardScaler(epsilon=1.0, delta=1e-6)), ("ab", model())])
    search = GridSearchCV(steps, {"ab__alpha": [0.0, 0.1]}, cv=KFold(2)).fit(X, Y)
    places = [part.path for part in privacy_report(search).private]
    for candidate in range(2):
        assert {f"GridSearchCV.candidate[{candidate}].{name}" for name in ("a", "ab")} <= set(
            places)

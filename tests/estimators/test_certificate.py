"""The certificate is public, complete, and says of itself only what is so."""

import html
import json
from dataclasses import fields, replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import is_classifier

import dpsk
from dpsk import Certificate
from dpsk.testing import NoiseSeed
from tests.estimators.pairs import bounds_gradients, build
from tests.events import tally
from tests.registry import (
    ALL_SOLVERS,
    arithmetic_of,
    auto_solvers,
    every_estimator,
    every_fit,
    every_linear_estimator,
    is_linear,
    plain_solver,
    takes_pure_epsilon,
    training_rows,
)


def _certificate(cls, solver="auto", **params):
    model = cls(**params) if solver == "auto" else build(cls, solver, **params)
    return model.fit(*training_rows(model)).privacy_


def _bound(certificate, name):
    (bound,) = [one for one in certificate.enforced if one.name == name]
    return bound


@pytest.mark.covering
@every_fit
def test_json_round_trip_gives_an_equal_certificate(cls, solver):
    certificate = _certificate(cls, solver=solver, batch_size=None)
    text = certificate.to_json()
    again = Certificate.from_json(text)
    assert again.to_json() == text
    assert again.event == certificate.event
    assert again.epsilon_at(1e-6) == certificate.epsilon_at(1e-6)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert json.loads(certificate.to_json(indent=2)) == json.loads(text)


@pytest.mark.covering
@every_fit
def test_json_holds_plain_finite_values(cls, solver):
    def refuse(constant):
        raise AssertionError(constant)

    clip_norm = np.inf if bounds_gradients(cls, solver) else np.float64(1)
    data = json.loads(_certificate(cls, solver, clip_norm=clip_norm, data_norm=np.float64(2))
                      .to_json(), parse_constant=refuse)
    assert data["epsilon"] == 1.0 and data["solver"] == solver
    assert data["accounting"]["delta"] <= data["delta"]
    assert data["relation"].startswith("replace-one")


@pytest.mark.covering
@every_fit
def test_the_text_states_guarantee_releases_bounds_and_sources(cls, solver):
    certificate = _certificate(cls, solver=solver, epsilon=2.0, delta=1e-4)
    text = str(certificate)
    assert "(2, 0.0001)-differential privacy" in text and cls.__name__ in text
    for event, count in tally(certificate.event).items():
        assert f"{count} x {type(event).__name__}(" in text
        for field in fields(event):
            assert f"{field.name}={getattr(event, field.name):.4g}" in text
    for bound in certificate.enforced:
        assert bound.name in text and bound.origin in text and bound.how in text
    for part in (*certificate.public, *certificate.released, certificate.noise_source, solver,
                 certificate.relation, *dict(certificate.versions).values()):
        assert part in text
    assert dict(certificate.versions)["dpsk"] == dpsk.__version__


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@every_estimator
def test_html_says_what_the_text_says_and_escapes_it(cls):
    certificate = _certificate(cls)
    parser = _Tags()
    parser.feed(certificate._repr_html_())
    assert parser.open == [] and "table" in parser.seen
    said = " ".join(parser.text)
    for line in str(certificate).splitlines():
        assert line.split(":", 1)[-1].strip() in said
    hostile = "<script>alert('&')</script>"
    for field in ("estimator", "solver", "noise_source", "relation"):
        page = replace(certificate, **{field: hostile})._repr_html_()
        assert "<script" not in page and html.escape(hostile) in page
    assert "<script" not in replace(certificate, public=(hostile,))._repr_html_()


@pytest.mark.covering(most=12)
@every_fit
def test_the_curve_meets_the_declared_budget_and_is_monotone(cls, solver):
    certificate = _certificate(cls, solver=solver)
    epsilon, delta = certificate.epsilon, certificate.delta
    assert 0.9 * delta < certificate.delta_at(epsilon) <= delta
    assert certificate.epsilon_at(delta) <= epsilon * (1 + 1e-6)
    deltas = [certificate.delta_at(value) for value in (0.1, 0.5, 1.0, 2.0)]
    epsilons = [certificate.epsilon_at(value) for value in (1e-8, 1e-6, 1e-4)]
    assert deltas == sorted(deltas, reverse=True)
    assert epsilons == sorted(epsilons, reverse=True)
    for value in (1e-8, 1e-4):
        assert certificate.delta_at(certificate.epsilon_at(value)) <= value * (1 + 1e-6)


@every_linear_estimator
def test_pure_epsilon_is_stated_as_such(cls):
    if not takes_pure_epsilon(cls):
        with pytest.raises(ValueError, match=r"delta=0\.0.*leave delta=None"):
            _certificate(cls, delta=0, solver="sgda")
        return
    in_ball = cls().get_params()["penalty"] == "l1_ball"
    certificate = _certificate(cls, delta=0)
    assert certificate.delta == 0 and certificate.solver == (
        "frank_wolfe" if in_ball else "objective_perturbation")
    assert certificate.delta_at(1.0) == 0.0
    assert certificate.epsilon_at(0.0) <= 1.0 * (1 + 1e-9)


@every_estimator
def test_the_default_delta_is_one_over_n_squared(cls):
    X, y = training_rows(cls(), n=60)
    assert cls().fit(X, y).privacy_.delta == 1 / 3600
    assert cls(delta=1e-3).fit(X, y).privacy_.delta == 1e-3


@every_estimator
def test_bounds_say_where_they_come_from(cls):
    solver = plain_solver(cls)
    # Networks take rows as they are unless a bound is given.
    default = _certificate(cls, solver, data_norm="auto" if is_linear(cls) else 1.0)
    declared = _certificate(cls, solver, data_norm=2.0, clip_norm=0.1)
    assert _bound(default, "data_norm").origin == (
        "default" if is_linear(cls) else "declared")
    assert _bound(default, "clip_norm").origin == "derived"
    assert (_bound(declared, "data_norm").value, _bound(declared, "data_norm").origin) == (
        2.0, "declared")
    assert (_bound(declared, "clip_norm").value, _bound(declared, "clip_norm").origin) == (
        0.1, "declared")
    if bounds_gradients(cls):
        # A clip norm that clips nothing gives way to the bound that loss and rows imply.
        assert _bound(_certificate(cls, solver, clip_norm=np.inf), "clip_norm") == replace(
            _bound(_certificate(cls, solver, clip_norm=1e9), "clip_norm"), origin="derived")
    if not is_linear(cls):
        assert "data_norm" not in [one.name for one in _certificate(cls, solver).enforced]
        return
    assert "data_norm_inf" not in [one.name for one in default.enforced]
    clipped = _bound(_certificate(cls, solver, data_norm_inf=0.5), "data_norm_inf")
    assert (clipped.value, clipped.origin) == (0.5, "declared")
    assert "constant 1" in _bound(default, "data_norm").how
    assert "constant 1" not in _bound(_certificate(cls, fit_intercept=False), "data_norm").how


@every_estimator
def test_target_bounds_are_said_to_be_default_unless_given(cls):
    if is_classifier(cls()):
        assert "target_bounds" not in [one.name for one in _certificate(cls).enforced]
        return
    # So small a budget that no bounds are learnt.
    plain = _certificate(cls, epsilon=0.3)
    assert _bound(plain, "target_bounds").origin == "default, not declared"
    given = _bound(_certificate(cls, target_bounds=(2, 3)), "target_bounds")
    assert (given.value, given.origin) == ([2.0, 3.0], "declared")
    assert "default, not declared" in str(plain)


@every_estimator
def test_classes_are_said_to_be_taken_from_y_unless_declared(cls):
    if not is_classifier(cls()):
        return
    inferred = " ".join(_certificate(cls).public)
    declared = " ".join(_certificate(cls, classes=[0, 1]).public)
    assert "2 class labels (taken from y)" in inferred
    assert "2 class labels (declared)" in declared


@every_estimator
def test_a_seed_is_recorded_and_said_to_void_the_guarantee_if_known(cls):
    seeded = _certificate(cls, random_state=NoiseSeed(5))
    assert seeded.reproducible and seeded.noise_source.startswith("NoiseSeed: ")
    assert "not private for anyone who knows the seed" in str(seeded)
    assert "5" not in seeded.noise_source.replace("SHA256", "")
    for random_state in (None, 5, np.int64(5)):
        fresh = _certificate(cls, random_state=random_state)
        assert not fresh.reproducible and "operating-system" in fresh.noise_source
        assert "NoiseSeed" not in str(fresh)


@pytest.mark.covering
@every_fit
@pytest.mark.parametrize("row", [1e6, 1e-6, 0.0, 1e300])
def test_the_certificate_is_the_same_on_neighboring_data(cls, solver, row):
    X, y = training_rows(cls())
    other, labels = X.copy(), y.copy()
    # Networks refuse what is not finite in single precision.
    other[0], labels[0] = row if is_linear(cls) else min(row, 1e30), 1 - labels[0]
    certificates = [build(cls, solver).fit(rows, targets).privacy_
                    for rows, targets in [(X, y), (other, labels)]]
    assert certificates[0] == certificates[1]
    assert certificates[0].to_json() == certificates[1].to_json()
    assert str(certificates[0]) == str(certificates[1])


@pytest.mark.covering(most=12)
@every_fit
def test_only_released_attributes_depend_on_the_rows(cls, solver):
    X, y = training_rows(cls())
    other = X.copy()
    other[0] = 1e6
    models = [build(cls, solver).fit(rows, y) for rows in (X, other)]
    a, b = map(vars, models)
    released = set(models[0].privacy_.released)
    assert set(a) == set(b) and released <= set(a)
    for name in set(a) - released:
        assert np.array_equal(a[name], b[name]), name
    assert ("classes_" in a) == is_classifier(cls())


@pytest.mark.covering
@every_fit
def test_the_certificate_names_the_solver_that_ran(cls, solver):
    assert _certificate(cls, solver=solver).solver == solver
    assert _certificate(cls).solver in auto_solvers(cls)


@every_estimator
def test_a_certificate_cannot_be_changed(cls):
    certificate = _certificate(cls)
    with pytest.raises(AttributeError):
        certificate.epsilon = 0.1


@pytest.mark.covering(most=12)
@every_fit
def test_the_arithmetic_is_named_and_explained(cls, solver):
    # A batch as large as the table is the table.
    full = "grid" if solver in ("sgd", "rrpsgd") else arithmetic_of(solver)
    assert _certificate(cls, solver, batch_size=10**6).arithmetic == (
        full if is_linear(cls) else "float")
    certificate = _certificate(cls, solver, batch_size=16)
    assert certificate.arithmetic == (arithmetic_of(solver) if is_linear(cls) else "float")
    assert f"{certificate.arithmetic}: " in str(certificate)
    assert Certificate.from_json(certificate.to_json()).arithmetic == certificate.arithmetic


@pytest.mark.covering(most=12)
@every_fit
def test_weights_are_listed_with_what_they_are_lowered_to(cls, solver):
    model = build(cls, solver)
    X, y = training_rows(model)
    certificate = model.fit(X, y, sample_weight=np.linspace(0, 5, len(y))).privacy_
    assert "whether all sample weights are zero" in certificate.public
    assert "sample weight" not in " ".join(model.fit(X, y).privacy_.public)
    names = [bound.name for bound in certificate.enforced]
    bounded = ALL_SOLVERS[solver].lowers_weights
    assert ("sample_weight" in names) == bounded
    if bounded:
        bound = _bound(certificate, "sample_weight")
        assert (bound.value, bound.origin) == (1.0, "default")
        if is_classifier(model):
            model.set_params(class_weight={label: 3.0 for label in np.unique(y)})
            bound = _bound(model.fit(X, y, sample_weight=np.ones(len(y))).privacy_,
                           "sample_weight")
            assert (bound.value, bound.origin) == (3.0, "derived")

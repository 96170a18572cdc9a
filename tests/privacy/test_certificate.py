"""A certificate whose numbers do not follow from its events does not load."""

import json
import math
import re
from dataclasses import asdict, fields, replace
from functools import cache

import pytest

from dpsk import Certificate
from dpsk._privacy import accountant
from dpsk._privacy.certificate import Enforced
from dpsk._privacy.events import (
    Composed,
    Gaussian,
    NotPrivate,
    Pure,
    Repeated,
    SampledGaussian,
)
from tests.privacy.cases import every_example

SAMPLED = Composed((Repeated(SampledGaussian(0.02, 1.5), 100), Gaussian(0.1)))


def certificate(event, epsilon=1.0, delta=None):
    spent = accountant.delta(event, epsilon)
    return Certificate(
        epsilon=epsilon, delta=spent if delta is None else delta, event=event,
        noise_multiplier=2.5, estimator="DPSomething", solver="gd",
        enforced=(Enforced("clip_norm", 1.0, "declared", "of one row"),
                  Enforced("target_bounds", [-1.0, 1.0], "default", "of targets")),
        public=("n_samples", "n_features"), released=("coef_",), noise_source="a generator",
        reproducible=False, arithmetic="grid", versions=(("dpsk", "1"), ("numpy", "2")))


@cache
def honest():
    """The text of one certificate."""
    return certificate(SAMPLED).to_json()


def changed(path, value):
    """That certificate's dictionary with one entry, given by its path, changed."""
    data = json.loads(honest())
    *parents, last = path
    inner = data
    for key in parents:
        inner = inner[key]
    inner[last] = value
    return data


@pytest.mark.covering
@every_example
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_what_a_certificate_wrote_it_reads(event, epsilon):
    whole = certificate(Repeated(event, 2), epsilon)
    if whole.delta < 1:
        assert whole.verify() is whole
        assert whole.delta_at(1e6) > 0 or event.pure_epsilon < math.inf
        assert Certificate.from_json(whole.to_json()) == whole
    else:
        with pytest.raises(ValueError, match=r"^delta=1\.0"):
            whole.verify()


@pytest.mark.parametrize("event", [SAMPLED, Gaussian(0.3), Repeated(Pure(0.2), 6)])
@pytest.mark.parametrize("change", [
    lambda c: {"epsilon": 0.1}, lambda c: {"epsilon": 0.999 * c.epsilon},
    lambda c: {"delta": c.delta * 0.999}, lambda c: {"delta": 0.0}])
def test_a_stronger_claim_than_the_events_allow_does_not_load(event, change):
    whole = certificate(event)
    edited = {**whole.to_dict(), **change(whole)}
    for data in (edited, {**edited, "accounting": asdict(
            accountant.account(event, edited["epsilon"]))}):
        with pytest.raises(ValueError, match=r"^delta=.* the events give delta="):
            Certificate.from_json(json.dumps(data))
    with pytest.raises(ValueError, match=r"^delta=.* the events give delta="):
        replace(whole, **change(whole)).verify()


def test_weaker_claims_load():
    whole = certificate(SAMPLED)
    assert replace(whole, delta=0.5).verify().delta == 0.5
    wider = {**whole.to_dict(), "delta": 2 * whole.delta,
             "guarantee": replace(whole, delta=2 * whole.delta).guarantee}
    assert Certificate.from_dict(wider).delta == 2 * whole.delta


#: Events of which at least one has no noise.
NOISELESS = [NotPrivate(), Repeated(NotPrivate(), 5), Composed((Gaussian(0.1), NotPrivate()))]


@pytest.mark.parametrize("event", NOISELESS, ids=repr)
def test_no_finite_epsilon_is_claimed_of_a_fit_without_noise(event):
    for epsilon in (1e-3, 1.0, 1e300):
        for multiplier in (0.0, 2.5):
            with pytest.raises(ValueError, match=r"^(event|noise_multiplier)="):
                replace(certificate(event, epsilon, 1 - 1e-15),
                        noise_multiplier=multiplier).verify()
    whole = replace(certificate(event, delta=0.1), epsilon=math.inf, noise_multiplier=0.0)
    for epsilon in (1.0, 1e300):
        with pytest.raises(ValueError):
            Certificate.from_dict({**whole.to_dict(), "epsilon": epsilon})


@pytest.mark.parametrize("event", NOISELESS, ids=repr)
def test_a_certificate_without_a_guarantee_says_so_first(event):
    whole = replace(certificate(event, delta=0.1), epsilon=math.inf, noise_multiplier=0.0)
    assert whole.verify() is whole and not whole.is_private
    assert Certificate.from_json(whole.to_json()) == whole
    assert str(whole).startswith("Not private: ")
    assert whole._repr_html_().startswith("<table><caption>Not private: ")
    assert whole.to_json().startswith('{"guarantee": "not private')
    # Strict readers of JSON know no infinity.
    json.loads(whole.to_json(), parse_constant=lambda name: pytest.fail(name))
    assert whole.delta_at(1e6) == 1.0 and whole.epsilon_at(0.5) == math.inf


@pytest.mark.parametrize("event", [SAMPLED, Gaussian(0.3), Pure(0.2)])
def test_noise_and_an_infinite_epsilon_do_not_go_together(event):
    for change in ({"epsilon": math.inf}, {"epsilon": math.inf, "noise_multiplier": 0.0},
                   {"noise_multiplier": 0.0}):
        with pytest.raises(ValueError, match=r"^(event|noise_multiplier)="):
            replace(certificate(event), **change).verify()


def test_pure_epsilon_is_a_claim_of_delta_zero():
    event = Repeated(Pure(0.25), 4)
    assert certificate(event, 1.0, 0.0).verify().delta_at(1.0) == 0.0
    with pytest.raises(ValueError, match=r"^delta=0\.0 at epsilon=0\.99"):
        certificate(event, 0.99, 0.0).verify()
    with pytest.raises(ValueError, match=r"^delta="):
        certificate(Gaussian(1.0), 1e6, 0.0).verify()


@pytest.mark.parametrize("path, value, name", [
    (("event", "events", 0, "event", "noise_multiplier"), 1.4, "delta"),
    (("event", "events", 0, "count"), 101, "delta"),
    (("event", "events", 0, "count"), 100.0, "count"),
    (("event", "events", 0, "count"), 10**400, "delta"),
    (("event", "events", 0, "event", "kind"), "Gaussian", "fields of Gaussian"),
    (("event", "events", 1, "kind"), "Noise", "kind"),
    (("event", "events", 1, "mu"), "0.1", "mu"),
    (("event", "events", 1, "sigma"), 1.0, "fields of Gaussian"),
    (("event",), [], "event"), (("event",), None, "event"),
    (("accounting", "delta"), 1e-9, r"accounting\['delta'\]"),
    (("accounting", "epsilon"), 0.5, r"accounting\['epsilon'\]"),
    (("accounting", "method"), "closed form", r"accounting\['method'\]"),
    (("accounting", "fft_share"), 0.5, r"accounting\['fft_share'\]"),
    (("accounting", "grid_step"), "fine", r"accounting\['grid_step'\]"),
    (("accounting", "proof"), "none", "keys of accounting"), (("accounting",), 1, "keys of acc"),
    (("proof",), "perfect", "keys of certificate"), (("guarantee",), "perfect", "guarantee"),
    (("enforced", 0, "proof"), "", "keys of enforced"), (("enforced", 0), [], "keys of enforced"),
    (("enforced", 0, "how"), 3, "enforced"), (("enforced", 0, "value"), "1", "enforced"),
    (("enforced", 1, "value"), [{}], "enforced"), (("enforced",), "none", "enforced"),
    (("arithmetic",), "exact", "arithmetic"), (("arithmetic",), [], "arithmetic"),
    (("relation",), "add-remove", "relation"), (("versions",), [], "versions"),
    (("versions", "dpsk"), 1, "versions"), (("public",), "n", "public"),
    (("public",), [1], "public"), (("released",), None, "released")])
def test_what_was_tampered_with_is_named(path, value, name):
    with pytest.raises(ValueError, match=f"^{name}"):
        Certificate.from_dict(changed(path, value))


@pytest.mark.parametrize("name", [f.name for f in fields(Certificate)])
def test_no_field_may_be_missing_or_of_another_type(name):
    data = json.loads(honest())
    for wrong in (None, 1 + 2j, {"a": object()}):
        with pytest.raises(ValueError, match=name):
            Certificate.from_dict({**data, name: wrong})
    del data[name]
    with pytest.raises(ValueError, match=r"^keys of certificate="):
        Certificate.from_dict(data)


@pytest.mark.parametrize("name", ["epsilon", "delta", "noise_multiplier"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, True, "1"])
def test_numbers_are_finite_numbers_in_range(name, value):
    with pytest.raises(ValueError, match=rf"^{name}="):
        Certificate.from_json(json.dumps(changed((name,), value)))


@pytest.mark.parametrize("text", ["null", "[]", "1", '"certificate"', "{}"])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match=r"^keys of certificate="):
        Certificate.from_json(text)


@pytest.mark.parametrize("text", [
    *(json.dumps({**json.loads(certificate(SAMPLED).to_json()), name: 10**400})
      for name in ("epsilon", "delta", "noise_multiplier")),
    "[" * 100_000, '{"a": ' + "[" * 5000 + "]" * 5000 + "}"])
def test_json_beyond_doubles_or_too_deep_is_refused_as_any_other(text):
    with pytest.raises(ValueError, match=r"^text: holds no certificate: "):
        Certificate.from_json(text)


@pytest.mark.parametrize("epsilon", [1.0, 0.1 + 0.2, 2.0 / 3.0, 1.0000004, 8.123456789])
@pytest.mark.parametrize("delta", [1e-6, 1.0 / 3750**2, 1.0 / 1876**2, 2.0 / 3e7])
def test_the_guarantee_in_words_promises_no_more_than_the_numbers(epsilon, delta):
    """But for the digits in which sums stand above the decimals that they are sums of."""
    found = replace(certificate(Gaussian(1e-3)), epsilon=epsilon, delta=delta).guarantee
    said = [float(each) for each in found[1:found.index(")")].split(", ")]
    for number, exact, digits in zip(said, (epsilon, delta), (6, 3), strict=True):
        assert exact * (1 - 1e-11) <= number <= exact * (1 + 10.0**(1 - digits))


def test_whole_decimals_stay_as_they_are():
    assert replace(certificate(Gaussian(1e-3)), delta=1e-6).guarantee.startswith("(1, 1e-06)")


def test_a_guarantee_that_was_rounded_to_the_nearest_still_loads():
    found = certificate(Gaussian(0.1), delta=1.0 / 1876**2)
    assert found.guarantee == "(1, 2.85e-07)-differential privacy"
    older = found.to_dict() | {"guarantee": "(1, 2.84e-07)-differential privacy"}
    assert Certificate.from_dict(older) == found
    with pytest.raises(ValueError, match="guarantee"):
        Certificate.from_dict(older | {"guarantee": "(1, 2.83e-07)-differential privacy"})


@every_example
def test_people_read_four_digits_and_json_holds_all(event):
    whole = certificate(Composed((event, Gaussian(1.0 / 3.0))), delta=1.0)
    assert "Gaussian(mu=0.3333)" in str(whole) and "0.3333333333333333" in whole.to_json()
    for text in (str(whole), whole._repr_html_()):
        assert not re.search(r"\.0*[1-9]\d{7}", text)

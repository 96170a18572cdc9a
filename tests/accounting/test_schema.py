"""The schema holds of every certificate, and not of one with other keys."""

import html
import json
from dataclasses import replace

import pytest

from dpsk import Certificate
from dpsk.accounting import NotPrivate, certificate_schema
from tests.bad_arguments import calls
from tests.privacy.cases import every_example
from tests.privacy.test_certificate import SAMPLED, certificate

jsonschema = pytest.importorskip("jsonschema", reason="validates by a schema")
VALIDATOR = jsonschema.Draft202012Validator(certificate_schema())


def test_the_schema_is_one_and_is_json():
    jsonschema.Draft202012Validator.check_schema(certificate_schema())
    assert json.loads(json.dumps(certificate_schema())) == certificate_schema()


@every_example
def test_it_holds_of_certificates_of_every_event(event):
    VALIDATOR.validate(json.loads(certificate(event, delta=0.5).to_json()))


def test_it_holds_of_a_fit_without_noise():
    noiseless = replace(certificate(SAMPLED), epsilon=float("inf"), event=NotPrivate(),
                        noise_multiplier=0.0)
    VALIDATOR.validate(json.loads(noiseless.to_json()))


@pytest.mark.parametrize("change", [
    {"epsilon": -1.0}, {"delta": 1.0}, {"event": {"kind": "Laplace"}}, {"arithmetic": "exact"},
    {"event": {"kind": "Gaussian", "mu": 1.0, "sigma": 2.0}}, {"more": 1},
    {"enforced": [{"name": "clip_norm"}]}, {"reproducible": "no"}], ids=str)
def test_it_does_not_hold_of_others(change):
    data = {**json.loads(certificate(SAMPLED).to_json()), **change}
    assert not VALIDATOR.is_valid(data)


@pytest.mark.covering(most=20)
@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in calls().items()])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_certificate_says_what_it_rests_on(call):
    """In text, HTML and JSON, which a certificate with another list is refused for."""
    shown = call.made() if call.is_estimator else call.make(**call.given)
    if call.is_estimator:
        call.fit(shown)
    for found in _certificates(shown):
        faces = [str(found), html.unescape(found._repr_html_())]
        assert len(found.assumed) >= 2
        for line in found.assumed:
            assert all(face.count(line) == 1 for face in faces)
        data = json.loads(found.to_json())
        VALIDATOR.validate(data)
        assert data["assumed"] == [*found.assumed]
        with pytest.raises(ValueError, match=r"^assumed="):
            Certificate.from_dict({**data, "assumed": data["assumed"][:-1]})


def _certificates(shown):
    """Return the certificate of what a call returned, or those of its members."""
    members = shown if isinstance(shown, tuple) else (shown,)
    found = [each.privacy_ for each in members if hasattr(each, "privacy_")]
    assert found
    return found

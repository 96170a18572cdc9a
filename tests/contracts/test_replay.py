"""What a fit shows follows from its releases and from public facts: shown by replaying them.

The answers of the releases in a fit to one table are handed back in a fit to another of the same
public facts. Whatever then differs came to light some other way: an exact mean in the place of
the noisy one, a step length, a count of steps, a warning, an exception.
"""

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from dpsk import _progress
from tests.contracts.tapes import KINDS, every_case, kinds_of, make, table, taped

pytestmark = pytest.mark.covering

#: Predictions are compared on rows that are in neither table.
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


@pytest.fixture(autouse=True)
def no_clock(monkeypatch):
    """Have a fit print the same however long it takes on a busy machine."""
    monkeypatch.setattr(_progress, "_EVERY", math.inf)


def shown(model, data, capsys, answers=None):
    """Return all that a fit shows, by name, and the tape of its releases."""
    with warnings.catch_warnings(record=True) as warned, taped(answers) as tape:
        warnings.simplefilter("always")
        data.fit(model)
    printed = capsys.readouterr()
    certificate = model.privacy_
    faces = {"printed": printed.out, "errors": printed.err,
             "warnings": [(one.category, str(one.message)) for one in warned],
             "certificate": certificate.to_json(), "text": str(certificate),
             "page": certificate._repr_html_(), "attributes": list(vars(model)),
             "events": tape.events, "scales, units and divisors": tape.public}
    faces |= {name: pickle.dumps(value) for name, value in vars(model).items()}
    rows = np.random.default_rng(5).normal(size=(7, data.X.shape[1]))
    faces |= {method: getattr(model, method)(rows).tobytes()
              for method in METHODS if hasattr(model, method)}
    return faces, tape


@every_case
def test_all_that_a_fit_shows_follows_from_its_releases(cls, solver, variant, capsys):
    model = make(cls, solver, variant, verbose=1)
    faces, tape = shown(model, table(cls, variant), capsys)
    assert tape.answers and faces["printed"]
    for kind in kinds_of(variant):
        other, _ = shown(clone(model), table(cls, variant, kind), capsys, tape.answers)
        assert list(other) == list(faces)
        assert [name for name in faces if faces[name] != other[name]] == [], kind


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_replay_the_tables_would_show(kind, capsys):
    """The comparison above is of tables that differ."""
    from dpsk import DPLogisticRegression
    model = make(DPLogisticRegression, "gd", "whitened")
    faces, _ = shown(model, table(DPLogisticRegression, "whitened"), capsys)
    other, _ = shown(clone(model), table(DPLogisticRegression, "whitened", kind), capsys)
    differing = {name for name in faces if faces[name] != other[name]}
    assert {"coef_", "intercept_", "preconditioner_", "decision_function"} <= differing

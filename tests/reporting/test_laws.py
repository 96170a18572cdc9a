"""Laws that a search draws settings from are known where they are SciPy's own."""

import pickle

import numpy as np
import pytest
import scipy.stats

from dpsk import DPRandomizedSearchCV, make_dp_pipeline, privacy_report
from tests.budget.test_sharing import X, Y, model


class Own(scipy.stats.rv_continuous):
    """A law of one's own, which may have seen rows."""

    def _ppf(self, q):
        return q


def patched():
    """Return a law of SciPy with a method that somebody put on it."""
    law = scipy.stats.uniform(0.0, 1.0)
    law.rvs = lambda *args, **options: np.mean(X)
    return law


def inner(name, value):
    """Return a law of SciPy whose generator holds what somebody put there."""
    law = scipy.stats.uniform(0.0, 1.0)
    setattr(law.dist, name, value)
    return law


KNOWN = {"loguniform": lambda: scipy.stats.loguniform(1e-3, 1.0),
         "uniform": lambda: scipy.stats.uniform(0.0, 1.0),
         "pickled": lambda: pickle.loads(pickle.dumps(scipy.stats.beta(2.0, 3.0)))}
UNKNOWN = {"own": lambda: Own(a=0.0, b=1.0)(), "patched": patched,
           "patched inside": lambda: inner("rvs", patched().rvs),
           "patched by a name that all have": lambda: inner(
               "_parse_args_rvs", lambda *args, size=None, **options: ((), 0.0, 1.0, size)),
           "histogram": lambda: scipy.stats.rv_histogram(np.histogram(np.abs(X)), density=True),
           "rows inside": lambda: inner("rows", [X])}


def searched(law):
    return DPRandomizedSearchCV(model(), {"alpha": law}, scoring="accuracy", n_iter=2).fit(X, Y)


@pytest.mark.parametrize("name", KNOWN)
def test_laws_of_scipy_are_known(name):
    search = searched(KNOWN[name]())
    report = privacy_report(search)
    assert report.is_private and report.epsilon == pytest.approx(search.privacy_.epsilon)


def test_a_search_by_laws_is_private_in_a_pipeline():
    whole = make_dp_pipeline(searched(KNOWN["loguniform"]()), epsilon=2.0, delta=1e-5)
    assert privacy_report(whole.fit(X, Y)).is_private


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_exactly_a_law_of_scipy_is_named(name):
    report = privacy_report(searched(UNKNOWN[name]()))
    assert not report.is_private
    assert any("param_distributions" in part.path for part in report.exposed)

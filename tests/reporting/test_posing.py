"""What poses as something known, or hides in something known, is unknown all the same."""

import functools
import math
import types

import numpy as np
import pytest
from joblib import Memory
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils import Bunch

from dpsk import Certificate, DPLogisticRegression, privacy_report
from dpsk.reporting import PrivacyReport
from tests.reporting.test_unknown import X, Y, holding, made, model, unknown, with_step

pytestmark = pytest.mark.filterwarnings("ignore")


class Named(str):
    """A word that starts with anything, and is found under every name."""

    def __format__(self, spec):
        return "dpsk.linear_model._logistic"


class Alike(type):
    """Of classes that say that they are any other."""

    shown = None

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(cls.shown)


def alike(shown):
    """Return an object of a class that says that it is another, and holds rows."""
    cls = Alike("Posing", (), {"__iter__": lambda self: iter([self.model]), "shown": shown})
    posing = cls()
    posing.model, posing.means = model().fit(X, Y), X.mean(axis=0)
    posing.__dict__.update(vars(posing.model.privacy_))
    return posing


#: Known classes of containers, plain values, certificates and estimators.
SHOWN = [list, tuple, set, dict, Bunch, types.MappingProxyType, Certificate, PrivacyReport, int,
         float, str, type(None), np.ndarray, Memory, KFold, np.ufunc, Pipeline,
         DPLogisticRegression, Normalizer, functools.partial]
#: Where an object of a class that poses as another may be.
POSING = {
    "alone": lambda thing: thing, "in a list": lambda thing: [thing],
    "a parameter": lambda thing: holding(model().fit(X, Y), "alpha", thing),
    "in a parameter": lambda thing: holding(model().fit(X, Y), "solver_options", {"a": thing}),
    "memory": lambda thing: holding(made(Pipeline), "memory", thing),
    "a step": lambda thing: with_step(thing),
    "folds": lambda thing: holding(GridSearchCV(
        model(), {"alpha": [0.0]}, cv=KFold(2)).fit(X, Y), "cv", thing),
    "a constant": lambda thing: make_pipeline(
        FunctionTransformer(), model()).fit(X, Y).set_params(
            functiontransformer__func=functools.partial(np.multiply, thing))}


@pytest.mark.parametrize("place", POSING)
@pytest.mark.parametrize("shown", SHOWN, ids=lambda cls: cls.__name__)
def test_classes_are_told_by_identity_whatever_they_equal(shown, place):
    report = privacy_report(POSING[place](alike(shown)))
    assert report.fits_epsilon == math.inf
    assert any("unknown, no guarantee" in part.sentence for part in report.exposed)


def test_names_of_classes_are_plain_words():
    posing = type("DPLogisticRegression", (), {"__module__": Named("dpsk.linear_model._logistic")})
    posing.__qualname__ = "DPLogisticRegression"
    assert unknown(privacy_report([posing()]), "DPLogisticRegression")

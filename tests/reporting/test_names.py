"""Names of parts say who is who, however they begin: one that goes on as another is no part of it.
"""

import numpy as np
import pytest
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline

from dpsk import DPLogisticRegression, DPStandardScaler, privacy_report

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 3))
Y = (X[:, 0] > 0).astype(int)


def linear(epsilon):
    return DPLogisticRegression(solver="gd", max_iter=2, data_norm=2.0, epsilon=epsilon,
                                delta=1e-6)


def union(one, other):
    return Pipeline([("rows", FeatureUnion([(one, DPStandardScaler(epsilon=0.5, delta=1e-6)),
                                            (other, DPStandardScaler(epsilon=0.7, delta=1e-6))])),
                     (one * 2, linear(0.9))])


WHOLES = {
    "voting": lambda one, other: VotingClassifier([(one, linear(0.5)), (other, linear(0.7))]),
    "stacking": lambda one, other: StackingClassifier(
        [(one, linear(0.5)), (other, linear(0.7))], linear(0.9)),
    "union": union}


def reported(whole, names, setting):
    """Return what a search over one part costs by a report, and how many lines that takes."""
    place = f"{names[0]}__{setting}" if whole != "union" else f"rows__{names[0]}__{setting}"
    values = {"epsilon": [0.2, 0.4], "copy": [True, False], "alpha": [0.0, 0.1]}[setting]
    search = GridSearchCV(WHOLES[whole](*names), {place: values}, cv=2).fit(X, Y)
    report = privacy_report(search)
    assert np.isfinite(report.fits_epsilon)
    return report.fits_epsilon, len(report.private)


@pytest.mark.parametrize("whole", WHOLES)
@pytest.mark.parametrize("names", [("a", "ab"), ("ab", "a"), ("a", "a_"), ("a_b", "a")])
def test_a_name_that_begins_as_another_counts_for_itself(whole, names):
    for setting in ("epsilon", "alpha") if whole != "union" else ("epsilon", "copy"):
        assert reported(whole, names, setting) == reported(whole, ("left", "right"), setting)

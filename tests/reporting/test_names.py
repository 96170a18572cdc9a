"""Names of parts say who is who, however they begin: one that goes on as another is no part of it.
"""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from dpsk import DPLogisticRegression, DPStandardScaler, privacy_report

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(200, 3))
Y = (X[:, 0] > 0).astype(int)


def linear(epsilon):
    return DPLogisticRegression(solver="gd", max_iter=2, data_norm=2.0, epsilon=epsilon,
                                delta=1e-6)


def scaler(epsilon):
    return DPStandardScaler(epsilon=epsilon, delta=1e-6)


def reported(names, setting, values):
    """Return what a search over one part costs by a report, and how many lines that takes."""
    one, other = names
    whole = Pipeline([(one, scaler(0.5)), (other, scaler(0.7)), (one * 2, linear(0.9))])
    search = GridSearchCV(whole, {f"{one}__{setting}": values}, cv=2).fit(X, Y)
    report = privacy_report(search)
    assert np.isfinite(report.fits_epsilon)
    return report.fits_epsilon, len(report.private)


@pytest.mark.covering(most=2)
@pytest.mark.parametrize("names", [("a", "ab"), ("ab", "a"), ("a", "a_"), ("a_b", "a")])
@pytest.mark.parametrize("setting, values", [("epsilon", [0.4, 0.4]), ("with_std", [True, False])])
def test_a_name_that_begins_as_another_counts_for_itself(names, setting, values):
    assert reported(names, setting, values) == reported(("left", "right"), setting, values)

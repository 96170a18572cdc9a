"""A certificate states no finer arithmetic than that of what left."""

import pytest
from sklearn.datasets import make_classification

from dpsk import (
    DPGridSearchCV,
    DPLogisticRegression,
    DPRandomizedSearchCV,
    DPStandardScaler,
    DPTunedThresholdClassifier,
    make_dp_pipeline,
)
from dpsk.metrics import dp_cross_validate
from tests.contracts.tapes import taped

X, Y = make_classification(400, 4, random_state=0)


def exact():
    """Return a model whose sums and noise lie on a grid."""
    return DPLogisticRegression(solver="gd", data_norm=5.0, max_iter=4, precondition=False,
                                temperature=False)


WRAPPED = {
    "alone": lambda: exact().fit(X, Y).privacy_,
    "grid search": lambda: DPGridSearchCV(exact(), {"alpha": [0.0, 0.1]}).fit(X, Y).privacy_,
    "random search": lambda: DPRandomizedSearchCV(exact(), {"alpha": [0.0, 0.1]}).fit(
        X, Y).privacy_,
    "threshold": lambda: DPTunedThresholdClassifier(exact()).fit(X, Y).privacy_,
    "pipeline": lambda: make_dp_pipeline(DPStandardScaler(), exact()).fit(X, Y).privacy_,
    "folds": lambda: dp_cross_validate(exact(), X, Y, cv=2).privacy_,
    "last iterate": lambda: exact().set_params(solver="last_iterate", alpha=0.1).fit(
        X, Y).privacy_,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRAPPED)
def test_it_is_exact_only_where_all_that_left_is(name):
    with taped() as tape:
        certificate = WRAPPED[name]()
    units = [part.sensitivity.unit for parts in tape.parts for part in parts]
    # What runs hidden tells no part.
    whole = None not in units and all(tape.parts)
    assert tape.events
    assert (certificate.arithmetic == "grid") <= whole
    assert whole or name not in ("alone", "pipeline", "folds")

"""Predictions of sources are those of one array; what takes no source says so."""

import numpy as np
import pytest

from dpsk import DPLogisticRegression, DPTDRegressor, model_selection
from dpsk.testing import NoiseSeed
from tests.data.sources import Blocks, FailingBlocks
from tests.registry import (
    ALL_ESTIMATORS,
    CLASS_MODELS,
    ESTIMATORS,
    every_estimator,
    make_estimator,
    plain_solver,
    training_rows,
)

METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba")
#: Two blocks without rows.
CUTS = [0, 7, 7, 30]
#: What holds others takes what the first of them does.
others = pytest.mark.parametrize("name", sorted(
    set(ALL_ESTIMATORS) - {*ESTIMATORS, *CLASS_MODELS, "DPPipeline", *model_selection.__all__}))


@every_estimator
def test_predictions_go_block_by_block(cls):
    model = make_estimator(cls, plain_solver(cls), random_state=NoiseSeed(0), max_iter=5)
    X, y = training_rows(model)
    model.fit(X, y)
    # Targets that come with the blocks are left alone.
    for source in (Blocks(X, CUTS), Blocks(X, CUTS, y)):
        for name in METHODS:
            if not hasattr(model, name):
                continue
            found, whole = getattr(model, name)(source), getattr(model, name)(X)
            assert found.dtype == whole.dtype and found.shape == whole.shape
            if found.dtype.kind == "f":
                np.testing.assert_allclose(found, whole, rtol=1e-6, atol=1e-6)
            else:
                np.testing.assert_array_equal(found, whole)
    assert model.score(Blocks(X, CUTS), y) == pytest.approx(model.score(X, y))


def test_values_of_states_go_block_by_block():
    X, y = training_rows(DPLogisticRegression())
    model = DPTDRegressor(reward_bounds=(-1, 1), random_state=NoiseSeed(0)).fit(
        X, y, next_states=X[::-1])
    np.testing.assert_allclose(model.predict(Blocks(X, CUTS)), model.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(states=X), model.predict(X))


@others
def test_what_is_fitted_in_memory_refuses_sources(name):
    X, y = training_rows(DPLogisticRegression())
    states = name == "DPTDRegressor"
    model = ALL_ESTIMATORS[name](**({"reward_bounds": (-1, 1)} if states else {}))
    more = {"next_states": X} if states else {}
    what = "states" if states else "X"
    with pytest.raises(TypeError, match=f"{what} is a source of rows in blocks"):
        model.fit(Blocks(X, [30]), y, **more)
    if states:
        with pytest.raises(TypeError, match="next_states is a source"):
            model.fit(X, y, next_states=Blocks(X, [30]))


def test_what_cannot_be_read_or_predicted_is_said_without_data():
    X, y = training_rows(DPLogisticRegression())
    model = DPLogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="block 1 raised ValueError") as caught:
        model.predict(FailingBlocks(X, [30], fails=1))
    assert "31337" not in str(caught.value)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(Blocks(X[:, :3], [30]))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.predict(type("None", (Blocks,), {"blocks": lambda self: iter(())})(X, []))

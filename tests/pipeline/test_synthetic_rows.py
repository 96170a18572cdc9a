"""A pipeline that ends in a sampler draws rows in the columns of the table."""

import numpy as np
import pytest

from dpsk import DPGaussianSampler, DPRidge, DPStandardScaler, DPTableVectorizer, make_dp_pipeline
from dpsk.testing import NoiseSeed

# Draws repeat for a number, and the noise of a fit for a NoiseSeed.
SEED = 0


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    return rng.normal(size=(3000, 2)) + np.column_stack([500.0 + 40.0 * y, 3.0 - y]), y


@pytest.mark.parametrize("before", [(), ("passthrough",), (DPStandardScaler(),)])
def test_samples_are_mapped_back_to_the_table(table, before):
    X, _ = table
    model = make_dp_pipeline(*before, DPGaussianSampler(), epsilon=1e3,
                             random_state=NoiseSeed(0)).fit(X)
    drawn = model.sample(4000, random_state=SEED)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=0.05)
    np.testing.assert_array_equal(drawn, model.sample(4000, random_state=SEED))


def test_samples_of_a_class_come_with_it(table):
    X, y = table
    model = make_dp_pipeline(DPStandardScaler(), DPGaussianSampler(), epsilon=1e3,
                             random_state=NoiseSeed(0)).fit(X, y)
    drawn, labels = model.sample(500, y=1, random_state=SEED)
    assert (labels == 1).all() and drawn[:, 0].mean() == pytest.approx(540.0, rel=0.02)


def test_only_pipelines_that_can_map_back_have_samples():
    assert not hasattr(make_dp_pipeline(DPStandardScaler(), DPRidge()), "sample")
    one_way = make_dp_pipeline(DPTableVectorizer(), DPGaussianSampler())
    with pytest.raises(AttributeError, match="sample") as raised:
        one_way.sample(3)
    assert "use steps that have it" in str(raised.value.__cause__)

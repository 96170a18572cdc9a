"""The smoothed pinball loss, and the clip that leaves it alone."""

import numpy as np
import pytest
from scipy.stats import norm

from dpsk._defaults.descent import default_clip_norm
from dpsk._objective.losses import Pinball
from dpsk._problem import full_clip_norm
from tests.estimators.test_quantiles import every_quantile, pinball
from tests.registry import make_problem

pytestmark = pytest.mark.filterwarnings("ignore::dpsk.exceptions.PrivacyWarning")


@every_quantile
def test_the_loss_is_the_mean_of_losses_that_are_shifted(quantile):
    loss, r = Pinball(quantile, 0.25), np.linspace(-1.0, 1.0, 201)
    shifts = 0.25 * (2.0 * (np.arange(20_000) + 0.5) / 20_000 - 1.0)
    wanted = [pinball(quantile, one - shifts).mean() for one in r]
    np.testing.assert_allclose(loss.value(0.3, 0.3 + r), wanted, rtol=0, atol=1e-8)
    excess = loss.value(0.3, 0.3 + r) - pinball(quantile, r)
    assert excess.min() >= -1e-15 and excess.max() == pytest.approx(0.25 / 4)


@every_quantile
@pytest.mark.parametrize("width", [0.01, 0.1])
def test_the_minimizer_is_off_by_no_more_than_the_docstring_says(quantile, width):
    """Of even targets by nothing, of normal ones by the second order of the width."""
    loss, shares = Pinball(quantile, width), (np.arange(200_000) + 0.5) / 200_000
    for targets, law, steepest in [(2.0 * shares - 1.0, lambda z: 0.5 * (z + 1.0), 0.0),
                                   (0.25 * norm.ppf(shares), lambda z: norm.cdf(z / 0.25),
                                    norm.pdf(1.0) / 0.25**2)]:
        low, high = -1.0, 1.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            slope = loss.gradient(targets, np.full(len(targets), middle)).mean()
            low, high = (middle, high) if slope < 0.0 else (low, middle)
        # Sums over 200,000 points stand for the integral.
        assert abs(law(low) - quantile) <= steepest * width**2 / 6.0 + 2e-5


@pytest.mark.parametrize("effective_rank", [None, 3.0])
@pytest.mark.parametrize("weight_bound", [1.0, 3.0, np.inf])
def test_no_default_clip_is_below_the_bound_of_the_loss(effective_rank, weight_bound):
    problem = make_problem("pinball", effective_rank=effective_rank, weight_bound=weight_bound)
    bounded = make_problem("pinball", effective_rank=effective_rank,
                           weight_bound=min(weight_bound, 3.0 if weight_bound < np.inf else 1.0))
    assert default_clip_norm(problem, None) == full_clip_norm(bounded)
    assert default_clip_norm(problem, 0.01) == 0.01

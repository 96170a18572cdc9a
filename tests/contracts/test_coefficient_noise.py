"""The noise that solvers say their coefficients have."""

import numpy as np
import pytest

from dpsk import DPLogisticRegression
from dpsk._objective.penalties import ElasticNet
from dpsk._solvers import SOLVERS
from dpsk.additive._noise import coefficient_noise

#: Every eigenvalue once.
CURVATURES = np.array([0.0, 0.01, 0.3, 1.0, 1.7])


class Squares:
    """Gradients of a square with its minimum at 0, with noise."""

    def __init__(self, curvatures, noise):
        self._curvatures, self._noise = curvatures[:, None], iter(noise)

    def gradient(self, theta):
        return self._curvatures * theta + next(self._noise)


@pytest.mark.parametrize("options", [
    {"accelerate": False, "iterate": "half"}, {"accelerate": True, "iterate": "half"},
    {"accelerate": True, "iterate": "last"}, {"accelerate": False, "iterate": "average"}])
def test_the_gain_of_descent_is_the_deviation_of_its_result_under_noise(options):
    """20,000 runs: each deviation is off by a relative .005; 8 of these are one in 1e14."""
    solver = SOLVERS["gd"](max_iter=7, learning_rate=0.9, clip_norm=1.0, **options)
    runs = 20_000
    noise = np.random.default_rng(0).normal(size=(7, len(CURVATURES), runs))
    found = solver.minimize(Squares(CURVATURES, noise), ElasticNet(0.0),
                            np.zeros((len(CURVATURES), runs))).theta
    np.testing.assert_allclose(found.std(axis=1), solver.noise_gain(CURVATURES), rtol=0.04)


def test_solvers_that_say_nothing_of_their_noise_have_none():
    assert SOLVERS["newton"]().noise_gain(CURVATURES) is None


def test_the_noise_of_coefficients_shrinks_with_the_budget():
    """Means of ten fits: .79, give or take .06, and .18, give or take .01; 7 deviations apart."""
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(4, size=3000)]
    y = X[:, 0] + rng.random(3000) > 0.7
    stds = []
    for epsilon in np.repeat([1.0, 4.0], 10):
        model = DPLogisticRegression(epsilon, data_norm=1.0, solver="gd", precondition=True)
        model._notes = {}
        model.fit(X, y)
        (root,) = coefficient_noise(model, 1.0)
        assert root.shape == (4, 5)
        stds.append(np.linalg.norm(root - root.mean(axis=0)))
    assert np.mean(stds[10:]) < 0.6 * np.mean(stds[:10])

"""Sensitivities against brute force on the losses that attain them."""

import math

import numpy as np
import pytest

from dpsk._privacy.sensitivity import (
    contraction,
    effective_steps,
    gradient_descent_sensitivity,
    minimizer_sensitivity,
)


def descend(gradients, step, alpha, n_steps):
    theta = 0.0
    for _ in range(n_steps):
        theta -= step * (np.mean(gradients) + alpha * theta)
    return theta


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_linear_losses_attain_the_bound(alpha):
    n, step, n_steps = 20, 0.5, 30
    ours, theirs = np.ones(n), np.ones(n)
    theirs[0] = -1.0
    distance = abs(descend(ours, step, alpha, n_steps) - descend(theirs, step, alpha, n_steps))
    bound = gradient_descent_sensitivity(lipschitz=1.0, n_samples=n, step=step, n_steps=n_steps,
                                         smoothness=0.0, strong_convexity=alpha)
    assert distance == pytest.approx(bound, rel=1e-12)


def test_long_step_uses_the_expanding_series():
    c = contraction(3.0, 0.1, 1.0)
    assert c == pytest.approx(2.3)
    bound = gradient_descent_sensitivity(lipschitz=1.0, n_samples=10, step=3.0, n_steps=4,
                                         smoothness=1.0, strong_convexity=0.1)
    assert bound == pytest.approx(0.6 * sum(c**k for k in range(4)))


def test_long_run_tends_to_the_minimizer():
    run = gradient_descent_sensitivity(lipschitz=2.0, n_samples=100, step=1.0, n_steps=10**6,
                                       smoothness=1.0, strong_convexity=0.01)
    assert run == pytest.approx(minimizer_sensitivity(lipschitz=2.0, n_samples=100,
                                                      strong_convexity=0.01))


def test_effective_steps_limits():
    assert effective_steps(1.0, 50) == 50
    assert effective_steps(0.0, 50) == 1
    assert effective_steps(1 - 1e-12, 50) == pytest.approx(50, rel=1e-9)
    assert effective_steps(0.5, 10**9) == pytest.approx(3.0)


@pytest.mark.parametrize("change, name", [
    ({"step": 2.5}, "step"), ({"lipschitz": 0.0}, "lipschitz"), ({"n_samples": 0}, "n_samples"),
    ({"smoothness": math.nan}, "smoothness"), ({"strong_convexity": -1.0}, "strong_convexity"),
    ({"n_steps": -1}, "n_steps"), ({"step": 2.5, "strong_convexity": 0.1, "n_steps": 10**5},
                                   "steps")])
def test_refusals_name_the_parameter(change, name):
    good = {"lipschitz": 1.0, "n_samples": 10, "step": 1.0, "n_steps": 5, "smoothness": 1.0,
            "strong_convexity": 0.0}
    with pytest.raises(ValueError, match=f"^{name}="):
        gradient_descent_sensitivity(**{**good, **change})


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_effective_steps_needs_a_contraction(value):
    with pytest.raises(ValueError, match="contraction="):
        effective_steps(value, 10)

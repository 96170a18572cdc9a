"""Steps of a fit take shares of one budget, and no more than them."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._fit import Method
from dpsk._mechanism.core import Mechanism, Share
from dpsk._privacy import accountant
from dpsk._privacy.closed_forms import gaussian_mu
from dpsk._privacy.events import Composed, Disclosure, Gaussian, SampledGaussian
from dpsk._problem import Budget
from dpsk._steps import Steps

ROWS = Rows(np.zeros((4, 1)), np.zeros(4))


@dataclass(frozen=True)
class Priced(Mechanism):
    """A mechanism of a fixed price, which asks its data what to do with the session."""

    price: object

    def event(self, noise_multiplier):
        return self.price

    def run(self, data, session, noise_multiplier):
        return data(session)


def release(steps, share, price, ask):
    return steps.release("step", Share(Priced(price), share), ROWS, ask)


def steps(epsilon=1.0, delta=1e-5, chance=0.0, verbose=0):
    return Steps(Method("Model", "path.Model", "", None), Budget(100, 3, epsilon, delta), chance,
                 random_state=None, verbose=verbose)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 1e-2, 0.4])
@pytest.mark.parametrize("share", [1e-3, 0.1, 0.9])
def test_a_model_s_epsilon_and_delta_are_those_of_its_share(epsilon, delta, share):
    one = steps(epsilon, delta)
    own, its = one.budget(share)
    # What counts is the mu: beside a large delta epsilon may be more than that of the whole.
    assert own > 0 and 0 < its <= delta
    mu = gaussian_mu(own, its)
    assert mu <= one.mu(share) * (1 + 1e-9)
    # Calibrations find the largest noise that does by a millionth.
    assert mu == pytest.approx(one.mu(share), rel=1e-5)


def test_shares_add_to_the_whole_beside_a_chance():
    for chance in (0.0, 1e-6, 9e-6):
        one = steps(2.0, 1e-5, chance)
        assert one.mu(1.0) == pytest.approx(math.sqrt(2) * one.mu(0.5))
        event = Composed((*[Gaussian(one.mu(0.25))] * 4, Disclosure(chance)))
        price = accountant.delta(event, 2.0)
        assert price <= 1e-5 and price == pytest.approx(1e-5, rel=1e-5)


@pytest.mark.parametrize("event, share", [
    (Gaussian(1.0), 0.5), (SampledGaussian(0.01, 50.0), 0.5), (Gaussian(1e-3), 1.1)])
def test_a_step_beyond_its_share_is_refused_before_it_is_made(event, share):
    def run(session):
        raise AssertionError("released")

    with pytest.raises(RuntimeError, match="costs more than the share"):
        release(steps(), share, event, run)


def test_steps_beyond_what_is_left_are_refused():
    one = steps()
    for share in (0.6, 0.4):
        assert release(one, share, Gaussian(0.5 * one.mu(share)), lambda _: 7) == 7
    with pytest.raises(RuntimeError, match="more than is left"):
        release(one, 0.1, Gaussian(1e-6), lambda _: 7)


def test_what_a_step_does_not_declare_it_cannot_ask_for():
    one = steps()

    def run(session):
        return session(Gaussian(0.2), lambda inside: pytest.fail("read"))

    with pytest.raises(RuntimeError, match="not in the declared plan"):
        release(one, 0.5, Gaussian(0.1), run)


def test_without_a_budget_anything_goes():
    one = steps(math.inf)
    assert one.mu(0.1) == math.inf and one.budget(0.1) == (math.inf, 1e-5)

"""What a filter admits is within its budget, whatever kinds it is made of."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Dominated,
    Gaussian,
    NotPrivate,
    Pure,
    Repeated,
    SampledGaussian,
)
from dpsk._privacy.filters import (
    GaussianFilter,
    PureFilter,
    RenyiFilter,
    _renyi_limit,
    _sampled_divergence,
    open_filter,
)

BUDGETS = [(0.3, 1e-6), (1.0, 1e-5), (6.0, 1e-9)]
FILTERS = {
    "gaussian": lambda e, d: open_filter("gaussian", e, d, 0.0),
    "gaussian with disclosures": lambda e, d: open_filter("gaussian", e, d, 0.2 * d),
    "renyi": lambda e, d: open_filter("renyi", e, d, 0.0),
    "pure": lambda e, d: open_filter("pure", e, 0.0, 0.0)}


def events(delta):
    """Small events of every kind."""
    return st.one_of(
        st.floats(0.01, 0.5).map(Gaussian), st.floats(0.005, 0.3).map(Pure),
        st.sampled_from([Repeated(SampledGaussian(q, z), n)
                         for q, z, n in ((0.001, 1.0, 40), (0.3, 8.0, 10))]),
        st.sampled_from([Dominated(0.0, 0.02), Dominated(0.1, 0.1)]),
        st.floats(0.0, 0.1).map(lambda part: Disclosure(part * delta)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_what_is_admitted_is_within_the_budget(kind, budget):
    epsilon, delta = budget
    filter_ = FILTERS[kind](epsilon, delta)

    @given(st.lists(events(delta), max_size=8))
    @settings(max_examples=10 if kind != "gaussian with disclosures" else 4, deadline=None)
    def check(plan):
        taken, spent = [], (0.0,) * len(filter_.units)
        for event in plan:
            price = filter_.price(event)
            if filter_.admits(spent, price):
                taken.append(event)
                spent = tuple(np.add(spent, price))
        bound = 0.0 if kind == "pure" else delta
        assert accountant.delta(Composed(tuple(taken)), epsilon) <= bound * (1 + 1e-9)

    check()


#: Of every kind of event a small one, such that many of them fill a budget.
SMALL = [Gaussian(0.05), Pure(0.02), SampledGaussian(0.05, 2.0),
         Repeated(SampledGaussian(0.02, 2.0), 20), Dominated(0.0, 0.005), Disclosure(1e-11)]
#: Curves of Gaussian filters with disclosures take seconds.
each_filter = pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=pytest.mark.thorough if "disclosures" in kind else ())
    for kind in FILTERS])
each_small = pytest.mark.parametrize("event", SMALL, ids=str)


@each_filter
@each_small
@pytest.mark.parametrize("count", [2, 100])
def test_so_many_releases_cost_so_much(kind, event, count):
    """All at once as one by one, but where a plan as a whole is worth less than its parts."""
    filter_ = FILTERS[kind](1.0, 1e-5)
    one, all_of_them = filter_.price(event), filter_.price(Repeated(event, count))
    apart = tuple(count * number for number in one)
    if not math.isfinite(sum(one)) or isinstance(filter_, RenyiFilter | PureFilter) or (
            isinstance(event, Gaussian | Pure | Disclosure)):
        assert all_of_them == pytest.approx(apart, rel=1e-12)
    else:
        assert one[0] < all_of_them[0] and one[1] == all_of_them[1]


@each_filter
@each_small
def test_a_budget_that_one_kind_fills_is_kept(kind, event):
    """What random plans may miss: as many of a kind as are admitted, in plans of several sizes."""
    filter_, bound = FILTERS[kind](1.0, 1e-5), 0.0 if kind == "pure" else 1e-5
    # Sums of epsilons are admitted up to rounding, such as fifty of 0.02.
    limit = 1.0 + 2e-15 if kind == "pure" else 1.0
    for size in (1, 30):
        price, taken, spent = filter_.price(Repeated(event, size)), 0, (0.0,) * len(filter_.units)
        while taken < 20_000 and filter_.admits(spent, price):
            taken, spent = taken + size, tuple(np.add(spent, price))
        if taken:
            assert accountant.delta(Repeated(event, taken), limit) <= bound * (1 + 1e-9)


@pytest.mark.thorough
def test_plans_of_rare_rows_have_a_price():
    filter_ = FILTERS["gaussian with disclosures"](1.0, 1e-5)
    for q, count in ((5e-4, 100), (1e-6, 10**4)):
        price = filter_.price(Repeated(SampledGaussian(q, 1.0), count))
        assert filter_.admits((0.0, 0.0), price), q


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_one_fit_may_have_all_of_a_gaussian_budget(budget):
    epsilon, delta = budget
    filter_ = GaussianFilter(epsilon, delta, 0.0)
    mu = accountant.mu_beside(epsilon, delta, 0.0)
    assert filter_.admits((0.0, 0.0), filter_.price(Gaussian(mu)))
    assert not filter_.admits((0.0, 0.0), filter_.price(Gaussian(mu * 1.0001)))
    assert filter_.left((0.0, 0.0), delta) == pytest.approx(epsilon, rel=1e-9)
    assert filter_.left((mu**2, 0.0), delta) == 0.0


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_order_is_the_best_for_gaussian_releases(budget):
    filter_ = RenyiFilter.best(*budget)
    best = max(2 * _renyi_limit(*budget, order) / order
               for order in 1 + np.geomspace(1e-3, 1e6, 4000))
    assert 2 * filter_.limits[0] / filter_.order > 0.999 * best
    # What is lost beside exact accounting.
    assert filter_.left((0.0,), budget[1]) < budget[0]
    assert filter_.left((0.0,), budget[1]) > 0.85 * budget[0]


@pytest.mark.parametrize("budget", [(1.0, 1e-6), (100.0, 0.1), (1000.0, 0.5)])
def test_tiny_pure_releases_cost_no_less_than_their_divergence(budget):
    """Their logarithms cancel to 0, or to a negative cost that returned budget."""
    mpmath.mp.dps = 60
    filter_ = RenyiFilter.best(*budget)
    order = mpmath.mpf(filter_.order)
    for epsilon in map(float, 10.0 ** np.arange(-12.0, 1.0, 0.37)):
        exact = mpmath.log((mpmath.exp(order * epsilon) + mpmath.exp((1 - order) * epsilon))
                           / (1 + mpmath.exp(mpmath.mpf(epsilon)))) / (order - 1)
        assert exact <= filter_.price(Pure(epsilon))[0] <= exact * (1 + 1e-6) + 1e-11


@pytest.mark.thorough
@pytest.mark.parametrize(("q", "z", "order"), [
    (0.01, 1.0, 8.0), (0.3, 2.0, 20.5), (0.99, 1.5, 3.0), (0.5, 0.5, 1.7), (1e-4, 0.7, 12.0),
    (0.0016, 15.4, 1.0106)])
def test_sampled_divergences_are_upper_bounds_of_the_integral(q, z, order):
    mpmath.mp.dps = 30

    def integrand(x):
        above = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * z**2))
        below = 1 - q + q * mpmath.exp(-(2 * x + 1) / (2 * z**2))
        return mpmath.npdf(x, 0, z) * above**order * below**(1 - order)

    top = 2 * order + 12 * z
    points = [-15 * z, *np.linspace(-2, top, 60).tolist(), top + 10 * z]
    exact = float(mpmath.log(mpmath.quad(integrand, points)) / (order - 1))
    found = _sampled_divergence(SampledGaussian(q, z), order)
    assert exact <= found <= exact * (1 + 1e-6) + 1e-11


@pytest.mark.parametrize(("kind", "event"), [
    ("gaussian", Disclosure(1e-9)), ("gaussian", SampledGaussian(0.1, 2.0)),
    ("renyi", Dominated(0.1, 0.1)), ("renyi", Disclosure(1e-9)), ("pure", Gaussian(0.01)),
    ("gaussian with disclosures", NotPrivate()), ("renyi", NotPrivate()), ("pure", NotPrivate())])
def test_what_has_no_price_is_refused_by_name(kind, event):
    filter_ = FILTERS[kind](1.0, 1e-5)
    assert not math.isfinite(sum(filter_.price(event)))
    assert not filter_.admits((0.0,) * len(filter_.units), filter_.price(event))
    assert type(event).__name__ in filter_.refusal(event)


def test_sums_are_what_is_left():
    filter_ = PureFilter(1.0)
    assert filter_.price(Repeated(Pure(0.25), 3)) == (0.75,)
    assert filter_.left((0.75,), 0.0) == 0.25
    assert filter_.admits((0.75,), (0.25,))
    assert not filter_.admits((0.75,), (0.2501,))


@pytest.mark.parametrize("kind", FILTERS)
def test_rounding_admits_no_more_than_the_bounds_cover(kind):
    """Nor does it refuse what is left: epsilons are solved for to some digits."""
    for epsilon, delta in (*BUDGETS, (100.0, 1e-60)):
        filter_ = FILTERS[kind](epsilon, delta)
        nothing, most = (0.0,) * len(filter_.units), filter_.limits
        assert filter_.admits(nothing, most)
        assert not filter_.admits(nothing, tuple(np.multiply(most, 1.0 + 1e-14)))
        spent = tuple(np.multiply(most, 0.3))
        left = filter_.left(spent, delta)
        event = Pure(left) if kind == "pure" else Gaussian(
            1.0 / calibrate(lambda z: Gaussian(1.0 / z), left, delta))
        assert filter_.admits(spent, filter_.price(event))

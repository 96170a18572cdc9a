"""The best of a random number of runs: the bound against every outcome of small mechanisms."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpsk._privacy import accountant
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.closed_forms import gaussian_delta, gaussian_deltas, gaussian_mu
from dpsk._privacy.domination import covering_mu
from dpsk._privacy.event_dicts import event_from_dict
from dpsk._privacy.events import (
    Composed,
    Disclosure,
    Gaussian,
    NotPrivate,
    Pure,
    Repeated,
    SampledGaussian,
)
from dpsk._privacy.selection import Run, failure_rate, gaussian_run, selection_deltas

pytestmark = pytest.mark.thorough

LAWS = [(1.0, 1.0), (1.5, 1.0), (3.0, 1.0), (10.0, 1.0), (40.0, 1.0), (4.0, 0.3), (10.0, 2.5)]


def _generating(z, mean, shape):
    """Return phi(z) of the law of the number of runs."""
    gamma = failure_rate(mean, shape)
    if gamma == 1:
        return z
    return (((1 - (1 - gamma) * z) ** -shape - 1) / (gamma**-shape - 1))


def _best(masses, groups, mean, shape):
    """Return the law of the best outcome; those of one group are tied, later groups win."""
    best = np.zeros(len(masses))
    for group in range(groups.max() + 1):
        tied = groups == group
        mass = masses[tied].sum()
        if mass > 0:
            below = masses[groups < group].sum()
            chance = (_generating(min(1.0, below + mass), mean, shape)
                      - _generating(below, mean, shape))
            best[tied] = chance * masses[tied] / mass
    return best


def _excess(p, q, epsilon):
    return np.maximum(p - math.exp(epsilon) * q, 0.0).sum()


def _mechanism(rng):
    """Return two laws on a few outcomes, close or far apart, with zeros, and their order."""
    size = rng.integers(2, 7)
    p = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0])))
    q = p * np.exp(rng.normal(scale=rng.choice([0.05, 0.5, 2.0]), size=size))
    if rng.random() < 0.3:
        p[rng.integers(size)] = 0.0
    if rng.random() < 0.3:
        q[rng.integers(size)] = 0.0
    groups = np.unique(rng.integers(size, size=size), return_inverse=True)[1]
    if p.sum() == 0 or q.sum() == 0:
        return _mechanism(rng)
    return p / p.sum(), q / q.sum(), groups


def _run(p, q):
    """Return a run known by the curve of both directions, which has corners at the losses."""
    both = (p > 0) & (q > 0)
    losses = np.unique(np.append(np.abs(np.log(p[both] / q[both])), [0.0, 20.0]))
    return Run(losses, np.array([max(_excess(p, q, loss), _excess(q, p, loss))
                                        for loss in losses]))


def _bound(run, mean, shape, epsilon):
    return float(selection_deltas(run, mean, shape, np.array([epsilon]))[0])


def _check_mechanisms(count, seed):
    rng = np.random.default_rng(seed)
    tight = []
    for _ in range(count):
        p, q, groups = _mechanism(rng)
        mean, shape = LAWS[rng.integers(len(LAWS))]
        run = _run(p, q)
        best = [_best(masses, groups, mean, shape) for masses in (p, q)]
        for epsilon in (0.0, float(rng.uniform(0.0, 3.0))):
            exact = max(_excess(*best, epsilon), _excess(*best[::-1], epsilon))
            bound = _bound(run, mean, shape, epsilon)
            assert exact <= bound + 1e-14, (p, q, groups, mean, shape, epsilon)
            tight.append(exact / bound if bound else 1.0)
    return np.array(tight)


def test_the_bound_is_never_below_enumeration():
    ratios = _check_mechanisms(120, 0)
    # It is not met everywhere, as the order of outcomes need not be the worst.
    assert np.quantile(ratios, 0.9) > 0.8


@pytest.mark.audit
def test_the_bound_is_never_below_enumeration_of_3000_mechanisms():
    _check_mechanisms(3000, 1)


@pytest.mark.parametrize("mu", [0.01, 0.3, 2.0])
def test_normal_outcomes_in_many_cells_are_bounded(mu):
    """A run that shows its normal score, in the best and in the worst order."""
    ends = np.concatenate([[-np.inf], np.linspace(-8, 8 + mu, 800), [np.inf]])
    q, p = np.diff(ndtr(ends)), np.diff(ndtr(ends - mu))
    groups = np.arange(len(q))
    for mean, shape in LAWS:
        for order in (groups, groups[::-1]):
            best = [_best(masses, order, mean, shape) for masses in (p, q)]
            for epsilon in (mu, 4 * mu):
                exact = max(_excess(*best, epsilon), _excess(*best[::-1], epsilon))
                bound = _bound(gaussian_run(mu), mean, shape, epsilon)
                assert exact <= bound * (1 + 1e-9) + 1e-13


def _two_sided(mu, mean, epsilon):
    """Return the exact delta where the score is the distance of a normal number from mu / 2."""
    ends = np.linspace(-12, 12 + mu, 100_001)
    p, q = np.diff(ndtr(ends)), np.diff(ndtr(ends - mu))
    off = np.abs((ends[:-1] + ends[1:]) / 2 - mu / 2)
    best = []
    for masses, center in ((p, 0.0), (q, mu)):
        above = ndtr(mu / 2 - off - center) + ndtr(center - mu / 2 - off)
        best.append(masses * mean / (1 + (mean - 1) * above) ** 2)
    return max(_excess(*best, epsilon), _excess(*best[::-1], epsilon))


@pytest.mark.parametrize("mu", [0.01, 0.1456, 1.0])
@pytest.mark.parametrize("mean", [2.0, 6.0, 30.0])
def test_scores_exist_that_the_bound_is_met_by(mu, mean):
    """So no accountant may charge less: at epsilon 0 to the last digits of the grid."""
    exact = _two_sided(mu, mean, 0.0)
    assert exact * (1 - 1e-7) <= _bound(gaussian_run(mu), mean, 1.0, 0.0) <= exact * 1.005
    for epsilon in (mu, 4 * mu):
        exact = _two_sided(mu, mean, epsilon)
        assert exact <= _bound(gaussian_run(mu), mean, 1.0, epsilon)


@pytest.mark.parametrize("mean", [2.0, 3.0, 6.0, 10.0, 30.0])
@pytest.mark.parametrize("mu", [0.03, 0.1456, 0.7])
def test_a_gaussian_covers_it_for_less_than_all_runs_cost(mean, mu):
    event = BestOf(Gaussian(mu), mean)
    price = covering_mu(event, 6e-9)
    least = gaussian_mu(0.0, _two_sided(mu, mean, 0.0))
    assert least * (1 - 1e-6) <= price <= 1.01 * least < 0.95 * mu * math.sqrt(mean)
    # Between the points that it was found by, and far beyond them.
    for loss in price * np.linspace(0.0, 9.0, 61):
        covered = 6e-9 + (1 - 6e-9) * gaussian_delta(price, loss)
        assert accountant.delta(event, loss) <= covered * (1 + 1e-9)


@pytest.mark.parametrize("event", [BestOf(Gaussian(1 / 16), 1.0), BestOf(Gaussian(0.01), 3.0),
                                   BestOf(SampledGaussian(0.01, 4.0), 10.0)])
def test_beyond_the_largest_loss_of_its_law_the_bound_stays(event):
    """A bound that never falls to the asked tail is what is known of losses beyond the law."""
    both = Composed((Gaussian(1 / 128), event))
    for loss in (0.3, 1.0, 3.0, 30.0):
        assert accountant.delta(both, loss) * (1 + 1e-9) >= accountant.delta(event, loss)
    assert accountant.epsilon(both, 1e-60) == np.inf


@pytest.mark.parametrize("chance", [0.02, 0.3])
def test_a_chance_that_covers_all_of_it_leaves_no_more_than_rounding(chance):
    """A search at a tiny epsilon within a budget of a huge disclosure."""
    event = BestOf(Gaussian(1e-3), 3.0)
    assert accountant.delta(event, 0.0) < chance
    assert covering_mu(event, chance) <= 1e-8


@pytest.mark.parametrize("mean, most", [(1, 1.001), (3, 1.27), (10, 1.55), (30, 1.81)])
def test_what_runs_at_epsilon_one_cost(mean, most):
    mu = gaussian_mu(1.0, 1e-5)
    found = accountant.epsilon(BestOf(Gaussian(mu), float(mean)), 1e-5)
    assert 0.98 * most < found <= most


@pytest.mark.parametrize("total, one", [(1.0, 0.64), (2.0, 1.30), (4.0, 2.67), (8.0, 5.51)])
def test_the_budget_of_a_run_is_found_for_a_total(total, one):
    scale = calibrate(lambda z: BestOf(Gaussian(1 / z), 10.0), total, 1e-5)
    assert accountant.delta(BestOf(Gaussian(1 / scale), 10.0), total) <= 1e-5
    assert accountant.epsilon(Gaussian(1 / scale), 1e-5) == pytest.approx(one, abs=0.01)


@pytest.mark.parametrize("event", [
    Gaussian(0.3), Pure(0.4),
    pytest.param(SampledGaussian(0.05, 1.0), marks=pytest.mark.audit)], ids=repr)
def test_one_run_costs_what_it_costs(event):
    for epsilon in (0.0, 0.1, 0.35):
        exact = accountant.delta(event, epsilon)
        bound = accountant.delta(BestOf(event, 1.0), epsilon)
        assert exact * (1 - 1e-6) <= bound <= exact * 1.1 + 1e-12


def test_a_pure_run_has_a_pure_price():
    for mean, epsilon in ((3.0, 0.1), (1e6, 0.1), (1e6, 1.0)):
        bound = accountant.epsilon(BestOf(Pure(epsilon), mean), 0.0)
        # Three times that of a run is what a geometric number of them never exceeds.
        assert epsilon < bound <= 3 * epsilon * (1 + 1e-9)
    p, q = np.array([0.2, 0.8]), np.array([0.8, 0.2])
    best = [_best(masses, np.array([0, 1]), 3.0, 1.0) for masses in (p, q)]
    largest = np.abs(np.log(best[0] / best[1])).max()
    assert largest <= accountant.epsilon(BestOf(Pure(math.log(4.0)), 3.0), 0.0)


def test_a_gaussian_curve_of_a_run_is_that_of_any_run_with_that_profile():
    run = Gaussian(0.4)
    losses = np.linspace(0, 4, 200)
    known = Run(losses, np.array([accountant.delta(run, loss) for loss in losses]))
    for epsilon in (0.1, 1.0, 1.5):
        one = _bound(gaussian_run(0.4), 10.0, 1.0, epsilon)
        assert one * (1 - 5e-3) <= _bound(known, 10.0, 1.0, epsilon) <= one * 1.05


def test_deltas_at_arrays_are_those_at_single_losses():
    for mu in (1e-4, 0.3, 5.0):
        losses = mu * np.linspace(0, 6, 13)
        np.testing.assert_allclose(gaussian_deltas(mu, losses),
                                   [gaussian_delta(mu, loss) for loss in losses], rtol=1e-10)
        below = 1 - np.exp(-losses) + np.exp(-losses) * gaussian_deltas(mu, losses)
        np.testing.assert_allclose(gaussian_deltas(mu, -losses), below, rtol=1e-10)


@pytest.mark.parametrize("other", [Gaussian(0.2), Pure(0.2), Disclosure(1e-6)], ids=repr)
def test_beside_other_releases_it_costs_more_and_within_basic_composition(other):
    best = BestOf(Gaussian(0.2), 10.0)
    both = accountant.epsilon(Composed((best, other)), 2e-5)
    alone = accountant.epsilon(best, 2e-5)
    assert alone < both <= (accountant.epsilon(best, 1e-5) + accountant.epsilon(other, 1e-5))


def test_a_search_beside_a_release_is_bounded_by_enumeration():
    """The best of runs of randomized response, beside another of the kind."""
    run, other, mean = 0.5, 0.8, 4.0
    response = [np.array([1, math.exp(loss)]) / (1 + math.exp(loss)) for loss in (run, other)]
    best = [_best(masses, np.array([0, 1]), mean, 1.0) for masses in (response[0],
                                                                     response[0][::-1])]
    p = np.outer(best[0], response[1]).ravel()
    q = np.outer(best[1], response[1][::-1]).ravel()
    for epsilon in (0.3, 1.0, 1.5):
        exact = max(_excess(p, q, epsilon), _excess(q, p, epsilon))
        bound = accountant.delta(Composed((BestOf(Pure(run), mean), Pure(other))), epsilon)
        worst = Pure(BestOf(Pure(run), mean).pure_epsilon)
        assert exact <= bound <= accountant.delta(Composed((worst, Pure(other))), epsilon) * 1.01


def test_chances_to_tell_all_are_taken_apart():
    run = Composed((Gaussian(0.2), Disclosure(1e-8)))
    for epsilon in (0.5, 1.0):
        alone = accountant.delta(BestOf(Gaussian(0.2), 10.0), epsilon)
        bound = accountant.delta(BestOf(run, 10.0), epsilon)
        assert alone < bound <= alone + 1e-7 * (1 + 1e-6)
    assert accountant.delta(BestOf(Disclosure(0.5), 10.0), 1.0) == 1.0
    assert accountant.delta(BestOf(Disclosure(1e-3), 10.0), 1.0) == pytest.approx(1e-2)


def test_runs_of_several_kinds_without_noise_and_nested():
    mixed = BestOf(Composed((Repeated(Pure(0.05), 10), Gaussian(0.1))), 3.0)
    assert accountant.delta(mixed, 1.0) > accountant.delta(mixed.event, 1.0)
    assert event_from_dict(mixed.to_dict()) == mixed
    assert accountant.delta(BestOf(NotPrivate(), 3.0), 5.0) == 1.0
    assert not BestOf(NotPrivate(), 3.0).protects
    twice = BestOf(BestOf(Gaussian(0.1), 3.0), 3.0)
    assert accountant.delta(twice, 0.5) > accountant.delta(twice.event, 0.5)


@pytest.mark.parametrize("mean, shape", LAWS)
def test_the_law_of_the_number_of_runs_has_the_mean_that_was_asked_for(mean, shape):
    step = 1e-6
    slope = (_generating(1.0, mean, shape) - _generating(1.0 - step, mean, shape)) / step
    assert slope == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("values", [
    {"mean_runs": 0.5}, {"mean_runs": 1e7}, {"shape": 0.0}, {"shape": 101.0}])
def test_laws_out_of_range_are_refused(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        BestOf(Gaussian(1.0), **{"mean_runs": 3.0, **values})

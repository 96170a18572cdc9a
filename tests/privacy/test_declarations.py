"""Every declaration's price: its event by an independent formula, its loss on the worst pair.

The second factor 2 in most formulas: a clipped term moves from one side of its ball to the other.
"""

import dataclasses
import inspect
import math

import numpy as np
import pytest
from scipy.stats import norm

from dpsk import _queries
from dpsk._privacy import accountant, plans
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.best_of import BestOf
from dpsk._privacy.events import (
    Composed,
    Dominated,
    Gaussian,
    NotPrivate,
    Pure,
    SampledGaussian,
    tally,
)
from dpsk._privacy.plans import (
    BestRuns,
    ExponentialChoices,
    Framed,
    NoisySums,
)
from dpsk._queries import (
    CheckedGradients,
    CriticGradients,
    Curvatures,
    Differences,
    ExactAnswers,
    Gradients,
    LastIterate,
    LeastSquares,
    Output,
    PerturbedObjective,
    Queries,
    SaddleDifferences,
    SaddleGradients,
    SemiGradients,
    TransitionMoments,
    Vertices,
)

ALL, SOME = FullBatch(), PoissonBatches(0.05)
SAMPLED, FEWER = PoissonBatches(0.3), PoissonBatches(0.02)

#: Declarations of each class, and at noise multiplier z their (kind, numbers, count).
EXPECTED = {
    NoisySums: [
        (NoisySums(ALL, 7), lambda z: [(Gaussian, (2 / z,), 7)]),
        (NoisySums(SOME, 30), lambda z: [(SampledGaussian, (0.05, z), 30)]),
        (NoisySums(ALL, 4, 2.0), lambda z: [(Gaussian, (1 / z,), 4)]),
        (NoisySums(FEWER, 15, 0.5), lambda z: [(SampledGaussian, (0.02, 0.5 * z), 15)])],
    **{cls: [(cls(NoisySums(SOME, 30), 0.5), lambda z: [(SampledGaussian, (0.05, z), 30)])]
       for cls in (Gradients, SemiGradients, CriticGradients)},
    Differences: [
        (Differences(NoisySums(ALL, 3, 2.5), NoisySums(batches, 40), 0.5),
         lambda z, kind=kind, own=own: [(Gaussian, (2 / (2.5 * z),), 3), (kind, own(z), 40)])
        for batches, kind, own in ((SOME, SampledGaussian, lambda z: (0.05, z)),
                                   (ALL, Gaussian, lambda z: (2 / z,)))],
    # A comparison has four times the noise; a row is in one batch, however many there are.
    CheckedGradients: [
        (CheckedGradients(0.5, 5, batches, pure, public),
         lambda z, kind=kind: [(kind, (0.5 / z,), 5), (kind, (2 / z,), 5)])
        for batches in (1, 9) for public in (False, True)
        for pure, kind in ((False, Gaussian), (True, Pure))],
    # The squares of the prices are shares of 1 / z^2.
    Curvatures: [(Curvatures((0.36, 0.64), 0.5, 0.25),
                  lambda z: [(Gaussian, (0.6 / z,), 1), (Gaussian, (0.8 / z,), 1)])],
    # Two scores move by twice the clip norm, apart: a range of 4 in the unit of the noise.
    ExponentialChoices: [
        (ExponentialChoices(6, True), lambda z: [(Pure, (4 / z,), 6)]),
        (ExponentialChoices(6, False),
         lambda z: [(Gaussian, (-2 * norm.ppf(1 / (1 + math.exp(2 / z))),), 6)])],
    Vertices: [
        (Vertices(ExponentialChoices(6, True), 0.5), lambda z: [(Pure, (4 / z,), 6)])],
    Output: [(Output(True, 0.5), lambda z: [(Pure, (1 / z,), 1)]),
             (Output(False, 0.5), lambda z: [(Gaussian, (1 / z,), 1)])],
    LeastSquares: [(LeastSquares(), lambda z: [(Gaussian, (1 / z,), 1)])],
    TransitionMoments: [
        (TransitionMoments(clip), lambda z: [(Gaussian, (2 / z,), 1)]) for clip in (None, 3.0)],
    LastIterate: [
        (LastIterate(1.0, steps, step, alpha),
         lambda z, law=(steps, step, alpha): [(Gaussian, (_last_of_quadratic(*law, z),), 1)])
        for steps, step, alpha in ((1, 0.5, 0.1), (9, 0.5, 0.3), (200, 0.5, 0.01), (9, 0.1, 0.0))],
    PerturbedObjective: [
        (PerturbedObjective(0.5, True, 0.1, 0.07, 0.05, 1e-3),
         lambda z: [(Pure, (0.07 + 2 / z,), 1), (Pure, (0.05,), 1)]),
        (PerturbedObjective(0.5, False, 0.1, 0.07, 0.05, 1e-3),
         lambda z: [(Dominated, (0.07 + 2 / z**2, 2 / z), 1), (Gaussian, (0.05,), 1)])],
    # The squares of 2 sqrt(1 - share) / z and of 2 sqrt(share) / z add to that of 2 / z.
    SaddleGradients: [
        (SaddleGradients(NoisySums(ALL, 8), 0.3, 0.5, 2.0),
         lambda z: [(Gaussian, (math.hypot(2 * math.sqrt(0.7) / z, 2 * math.sqrt(0.3) / z),), 8)]),
        (SaddleGradients(NoisySums(SOME, 8), 0.3, 0.5, 2.0),
         lambda z: [(SampledGaussian, (0.05, z), 8)])],
    SaddleDifferences: [
        (SaddleDifferences(NoisySums(SOME, 20), NoisySums(ALL, 4, 2.0),
                           NoisySums(FEWER, 15, 0.5), 0.5, 2.0, (1.0, 1.0)),
         lambda z: [(SampledGaussian, (0.05, z), 20), (Gaussian, (1 / z,), 4),
                    (SampledGaussian, (0.02, 0.5 * z), 15)]),
        (SaddleDifferences(NoisySums(ALL, 0), NoisySums(SAMPLED, 4, 3.0), NoisySums(FEWER, 0),
                           0.5, 2.0, (1.0, 1.0)),
         lambda z: [(SampledGaussian, (0.3, 3 * z), 4)])],
    # Numbers of the run, then the mean and the shape of the law of their number.
    BestRuns: [
        (BestRuns(10.0, 0.0), lambda z: [(BestOf, (1 / z, 10.0, 1.0), 1)]),
        (BestRuns(3.0, 1e-8), lambda z: [(BestOf, (1 / z, 1e-8, 3.0, 1.0), 1)])],
    ExactAnswers: [(ExactAnswers(), lambda z: [(NotPrivate, (), 1)])],
    Framed: [
        (Framed((Gaussian(0.03),), NoisySums(SOME, 30), (Pure(0.01), Gaussian(0.02))),
         lambda z: [(Gaussian, (0.03,), 1), (SampledGaussian, (0.05, z), 30),
                    (Pure, (0.01,), 1), (Gaussian, (0.02,), 1)])],
}

every_declaration = pytest.mark.parametrize(
    "plan, expected", [case for cases in EXPECTED.values() for case in cases],
    ids=lambda value: type(value).__name__)


def _last_of_quadratic(steps, step, alpha, z):
    """Exact mu of the last iterate of gradient descent on ``alpha theta^2 / 2 +- theta``.

    In units of the clip norm over n: gradients differ by 2, each has noise z.
    """
    shift = variance = 0.0
    for _ in range(steps):
        shift = (1 - step * alpha) * shift + step * 2
        variance = (1 - step * alpha)**2 * variance + (step * z)**2
    return shift / math.sqrt(variance)


def test_every_declaration_has_an_expected_event():
    declared = {cls for _, cls in inspect.getmembers(plans, inspect.isclass)
                if cls.__module__ == plans.__name__ and "__call__" in vars(cls)}
    declared |= {cls for _, cls in inspect.getmembers(_queries, inspect.isclass)
                 if issubclass(cls, Queries) and cls is not Queries}
    assert declared == EXPECTED.keys()
    assert all(type(plan) is cls for cls, cases in EXPECTED.items() for plan, _ in cases)


@every_declaration
@pytest.mark.parametrize("z", [0.7, 3.0, 40.0])
def test_the_event_is_that_of_an_independent_formula(plan, expected, z):
    def sorted_numbers(entries):
        return sorted((kind.__name__, *flat(numbers), count) for kind, numbers, count in entries)

    def flat(numbers):
        # An event may hold others.
        for number in numbers:
            yield from flat(number) if isinstance(number, tuple) else (number,)

    found = sorted_numbers((type(event), dataclasses.astuple(event), count)
                           for event, count in tally(plan(z)).items())
    wanted = sorted_numbers(expected(z))
    assert [entry[0] for entry in found] == [entry[0] for entry in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one[1:] == pytest.approx(other[1:], rel=1e-9)


# The loss of a mechanism on a pair of outcomes' masses, against the accountant's delta.


def shown(masses, others, epsilon):
    """Exact delta of two laws on the same outcomes, in the worse direction."""
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum()
               for p, q in ((masses, others), (others, masses)))


def line(reach, count=20_001):
    """Points of the trapezoidal rule and their distance."""
    points = np.linspace(-reach, reach, count)
    return points, points[1] - points[0]


EPSILONS = (0.0, 0.2, 0.7, 2.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("z", [0.7, 3.0])
def test_a_noisy_sum_costs_what_its_worst_pair_shows(z, epsilon):
    x, step = line(1 + 12 * z)
    exact = shown(norm.pdf(x, 1, z) * step, norm.pdf(x, -1, z) * step, epsilon)
    assert exact == pytest.approx(accountant.delta(NoisySums(ALL, 1)(z), epsilon), rel=1e-4)
    # Several in a row are a sum in more dimensions: the distance grows with the root.
    nine = shown(norm.pdf(x, 3, z) * step, norm.pdf(x, -3, z) * step, epsilon)
    assert nine == pytest.approx(accountant.delta(NoisySums(ALL, 9)(z), epsilon), rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.2, 2.0])
@pytest.mark.parametrize("rate, z", [(0.05, 0.7), (0.3, 2.0), (0.9, 1.0)])
def test_a_sampled_sum_costs_what_its_worst_pair_shows(rate, z, epsilon):
    x, step = line(1 + 12 * z)
    plan = NoisySums(PoissonBatches(rate), 1)
    price = accountant.delta(plan(z), epsilon)

    def law(row):
        return ((1 - rate) * norm.pdf(x, 0, z) + rate * norm.pdf(x, row, z)) * step

    assert shown(law(1), law(-1), epsilon) * (1 - 1e-4) <= price
    assert price <= shown(law(1), law(-1), epsilon) * 1.003 + 1e-12
    for row in (0.0, 0.5, 1.0):
        assert shown(law(1), law(row), epsilon) * (1 - 1e-4) <= price


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("z", [0.7, 3.0])
def test_laplace_noise_costs_no_more_than_pure_epsilon_and_reaches_it(z, epsilon):
    x, step = line(40 * z, 200_001)
    masses, others = (np.exp(-abs(x - at) / z) * step / (2 * z) for at in (0.5, -0.5))
    price = accountant.delta(Output(True, 1.0)(z), epsilon)
    assert shown(masses, others, epsilon) <= price * (1 + 1e-6)
    # Its loss stays at the two ends, so that randomized response is no worse an opponent.
    ends = 1 / (1 + np.exp(np.array([-1, 1]) / z))
    assert shown(ends, ends[::-1], epsilon) == pytest.approx(price, rel=1e-9)
    assert shown(masses, others, 0.99 / z) > 0 == shown(masses, others, 1.01 / z)


def choice(scores, z):
    """Law of the largest of scores, in units of the clip norm, with Gumbel noise of scale z."""
    weights = np.exp((scores - scores.max()) / z)
    return weights / weights.sum()


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("z", [1.0, 4.0, 20.0])
def test_a_choice_costs_no_less_than_any_pair_of_scores_shows(pure, z):
    """One score moves up by 2 clip norms and the others down; where they stood varies."""
    plan, closest = ExponentialChoices(1, pure), 0.0
    for ahead in np.linspace(-12 * z, 12 * z, 61):
        scores = np.array([ahead, 0.0, -1.0])
        move = np.array([1.0, -1.0, -1.0])
        pair = choice(scores + move, z), choice(scores - move, z)
        for epsilon in (0.0, 1 / z, 2 / z, 3.8 / z):
            price = accountant.delta(plan(z), epsilon)
            exact = shown(*pair, epsilon)
            assert exact <= price * (1 + 1e-9)
            closest = max(closest, exact / price)
        # No pair loses more than the range, and some lose nearly all of it.
        assert max(np.abs(np.log(pair[0] / pair[1]))) <= 4 / z * (1 + 1e-9)
    # The price of a Gaussian is nearly reached; that of randomized response is not.
    assert closest > (0.05 if pure else 0.6)
    scores, move = np.array([-12.0 * z, 0.0]), np.array([1.0, -1.0])
    assert np.log(choice(scores + move, z) / choice(scores - move, z)).max() > 0.99 * 4 / z


@pytest.mark.parametrize("steps, step, alpha, z", [(1, 0.5, 0.2, 2.0), (12, 0.4, 0.5, 6.0)])
def test_the_last_iterate_costs_what_a_linear_recursion_shows(steps, step, alpha, z):
    """Its law, by the covariance of all steps at once."""
    powers = (1 - step * alpha) ** np.arange(steps)
    apart, spread = step * 2 * powers.sum(), step * z * np.linalg.norm(powers)
    x, width = line(apart + 12 * spread)
    pair = (norm.pdf(x, at, spread) * width for at in (apart / 2, -apart / 2))
    masses, others = pair
    for epsilon in EPSILONS:
        price = accountant.delta(LastIterate(1.0, steps, step, alpha)(z), epsilon)
        assert shown(masses, others, epsilon) == pytest.approx(price, rel=1e-4)


# Objective perturbation of one dimension, in closed form: the minimizer theta of
# ``l(theta) + ridge theta^2 / 2 + b theta`` has the density of b at ``-l'(theta) - ridge theta``
# times the curvature there. Clip norm 1; the scale of b is z.


def minimizers(derivative, curvature, ridge, noise, theta):
    """Masses of the minimizer at points theta."""
    return (noise(-derivative(theta) - ridge * theta) * (ridge + curvature(theta))
            * (theta[1] - theta[0]))


def linear(slope):
    return lambda theta: slope + 0 * theta, lambda theta: 0 * theta


def bowl(smoothness):
    """A quadratic whose gradient is clipped to length 1."""
    return (lambda theta: np.clip(smoothness * theta, -1, 1),
            lambda theta: smoothness * (abs(smoothness * theta) <= 1))


#: Name: the two rows' losses, ridge, smoothness, noise multiplier, and epsilons to look at.
PAIRS = {
    "opposite gradients": (linear(1), linear(-1), 1.0, 0.0, 0.4, (5.0, 8.0, 14.0)),
    "a little noise": (linear(1), linear(-1), 1.0, 0.0, 3.0, (0.1, 0.5, 1.0)),
    "a curvature": (bowl(30.0), linear(0), 10.0, 30.0, 12.0, (0.3, 0.9, 1.2)),
    "both": (bowl(5.0), linear(-1), 2.0, 5.0, 2.0, (0.2, 1.0, 2.0)),
}
every_pair = pytest.mark.parametrize("name", PAIRS)


def perturbed(name, pure):
    """The declaration for a pair, its noise multiplier, and what the pair shows at epsilons."""
    first, second, ridge, smoothness, z, epsilons = PAIRS[name]
    reach = (30 if pure else 12) * z / ridge
    theta = np.linspace(-reach, reach, 200_001)

    def noise(b):
        return np.exp(-abs(b) / z) / (2 * z) if pure else norm.pdf(b, 0, z)

    pair = [minimizers(*loss, ridge, noise, theta) for loss in (first, second)]
    for masses in pair:
        assert masses.sum() == pytest.approx(1, abs=1e-3)
    # One row adds at most its smoothness to a curvature of at least the ridge.
    plan = PerturbedObjective(1.0, pure, ridge, math.log1p(smoothness / ridge), 0.0, 1e-3)
    return plan, z, {epsilon: shown(*pair, epsilon) for epsilon in epsilons}


@every_pair
@pytest.mark.parametrize("pure", [True, False])
def test_a_perturbed_objective_costs_no_less_than_its_minimizer_shows(name, pure):
    plan, z, exact = perturbed(name, pure)
    for epsilon, delta in exact.items():
        assert delta <= accountant.delta(plan(z), epsilon) * (1 + 1e-3) + 1e-12


def dropping(plan, **terms):
    """The event of the exact minimizer with some of its terms put to zero."""
    def event(z):
        minimizer, *_ = dataclasses.replace(plan, determinant=terms.get(
            "determinant", plan.determinant)).releases(z)
        return dataclasses.replace(minimizer, **{k: v for k, v in terms.items()
                                                 if k != "determinant"})
    return event


@pytest.mark.parametrize("name, terms", [
    ("opposite gradients", {"offset": 0.0}), ("opposite gradients", {"slope": 0.0}),
    ("a little noise", {"slope": 0.0}), ("a curvature", {"determinant": 0.0})])
def test_no_term_of_the_price_of_a_perturbed_objective_can_be_dropped(name, terms):
    plan, z, exact = perturbed(name, pure=False)
    assert any(accountant.delta(dropping(plan, **terms)(z), epsilon) < delta
               for epsilon, delta in exact.items())


@pytest.mark.parametrize("name, terms", [
    ("a curvature", {"determinant": 0.0}), ("opposite gradients", {"epsilon": 0.0})])
def test_no_term_of_its_pure_price_can_be_dropped(name, terms):
    plan, z, exact = perturbed(name, pure=True)
    assert any(accountant.delta(dropping(plan, **terms)(z), epsilon) < delta
               for epsilon, delta in exact.items())


@pytest.mark.parametrize("offset, slope", [(0.0, 0.3), (0.1, 0.2), (0.5, 2.0)])
@pytest.mark.parametrize("count", [1, 2])
def test_a_dominated_release_costs_the_mean_of_its_bound(offset, slope, count):
    """By quadrature over one Rayleigh variable, or over two."""
    rho = np.linspace(0, 12, 20_001 if count == 1 else 1201)
    weights = rho * np.exp(-rho**2 / 2) * (rho[1] - rho[0])
    loss = offset + slope * rho
    if count == 2:
        weights, loss = np.outer(weights, weights), np.add.outer(loss, loss)
    event = Composed((Dominated(offset, slope),) * count)
    for epsilon in (0.05, 0.5, 1.5):
        exact = float((np.maximum(-np.expm1(epsilon - loss), 0) * weights).sum())
        price = accountant.delta(event, epsilon)
        assert exact * (1 - 1e-4) <= price <= exact * 1.003

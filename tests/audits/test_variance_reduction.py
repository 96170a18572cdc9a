"""A6: variance reduction as printed reveals a row; the difference oracle keeps its claim.

The bounds on delta rest on two Clopper-Pearson limits at level 5e-8, so a sound mechanism
fails a test with probability at most 1e-7, whatever the seed. Thresholds are fixed beforehand.
"""

import numpy as np
import pytest
from audit_settings import CLIP, LEVEL
from scipy.stats import binom, norm

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Loss
from dpsk._privacy import accountant
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Repeated, SampledGaussian
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Differences
from dpsk._queries.differences import DifferenceOracle
from dpsk._sums.differences import DifferenceSums
from dpsk.auditing import delta_lower_bound, epsilon_lower_bound, mu_lower_bound

# The paper's own experiment: n, epochs T, steps m of each, (epsilon, delta); G = 1.
ROWS, EPOCHS, INNER, EPSILON, DELTA = 200_000, 15, 5000, 0.5, 1e-3
STEPS = EPOCHS * (INNER - 1)
PRINTED_STD = np.sqrt(EPOCHS * INNER * np.log(1 / DELTA)) / (ROWS * EPSILON)


def printed_answers(turns, rng):
    """Return all answers off the anchor of one run as printed, along the gradients.

    All rows but one have gradient -1 wherever they are asked; that one, if it `turns`, has -1
    at the anchors and +1 off them. Anchors are averaged without noise.
    """
    drawn = rng.integers(ROWS, size=STEPS) == 0
    return 2.0 * drawn * turns - 1.0 + PRINTED_STD * rng.standard_normal(STEPS)


@pytest.mark.thorough
def test_the_printed_noise_shows_whenever_the_row_is_drawn():
    rng, runs = np.random.default_rng(0), 400
    hits = [sum(bool(printed_answers(turns, rng).max() > 0.0) for _ in range(runs))
            for turns in (True, False)]
    bound = delta_lower_bound(hits[0], runs, hits[1], runs, epsilon=EPSILON, level=LEVEL)
    print(f"hits {hits} of {runs}: delta >= {bound:.3f}, true 0.313, claimed {DELTA}")
    assert bound > 50 * DELTA


@pytest.mark.thorough
def test_the_printed_noise_is_refused_by_the_accountant():
    # A difference of norm at most 2 G from a single row drawn with probability 1/n.
    event = Repeated(SampledGaussian(1 / ROWS, PRINTED_STD / 2.0), STEPS)
    assert accountant.delta(event, EPSILON) > 0.3


@pytest.mark.thorough
def test_the_same_plan_calibrated_keeps_its_claim():
    """The transcript's own likelihood ratio, at the threshold epsilon."""
    plan = Differences(NoisySums(FullBatch(), EPOCHS, 1e6),
                       NoisySums(PoissonBatches(1 / ROWS), STEPS), CLIP)
    z = calibrate(plan, EPSILON, DELTA)
    assert accountant.delta(plan(z), EPSILON) <= DELTA
    rng, runs = np.random.default_rng(0), 100

    def loss(answers):
        # Of a row whose difference is +c, against one whose difference is -c; c = 1.
        up, down = (np.exp((sign * answers - 0.5) / z**2) for sign in (1, -1))
        return np.sum(np.log1p((up - 1) / ROWS) - np.log1p((down - 1) / ROWS))

    hits = [sum(bool(loss(sign * (rng.random(STEPS) < 1 / ROWS)
                          + z * rng.standard_normal(STEPS)) > EPSILON) for _ in range(runs))
            for sign in (1, -1)]
    bound = delta_lower_bound(hits[0], runs, hits[1], runs, epsilon=EPSILON, level=LEVEL)
    print(f"hits {hits} of {runs}: delta >= {bound:.5f} of {DELTA}")
    assert bound <= DELTA


# The oracle itself, on rows that turn: their worst case is attained, and its law is known.

N, BATCH, ASKED, RUNS = 20, 5, 8, 3000
#: Share of the noise that must be found out.
CUT = 1 / 6
CLAIM = 1.0


class Saddle(Loss):
    """``y z^2 / 2`` with `y` 1 or -1: of a convex loss no difference could be turned round."""

    lipschitz = float("inf")
    smoothness = 1.0

    def value(self, y, z):
        return 0.5 * y * z**2

    def gradient(self, y, z):
        return y * z

    def hessian(self, y, z):
        raise AssertionError("not asked for")


def turning_oracle(target, plan, z):
    """Return an oracle over rows of which the first alone, with `target`, has a gradient."""
    X = np.zeros((N, 1))
    X[0] = 1.0
    sums = DifferenceSums(LinearModel(1, None, False, 1.0), Saddle(),
                          Rows(X, np.full(N, target)), CLIP)
    return DifferenceOracle(sums, plan, z, Session(EntropyStream(), Ledger(plan(z))))


def differences_hits(threshold, z, plan):
    """Count runs whose mean answer, in units of the worst difference, exceeds a threshold.

    From the anchor to theta the clipped gradient of target 1 goes from -C to C, that of the
    neighbor's target -1 from C to -C: differences of 2 C up and down.
    """
    counts, anchor, theta = [], -np.ones(1), np.ones(1)
    for target in (1.0, -1.0):
        hits = 0
        for _ in range(RUNS):
            oracle = turning_oracle(target, plan, z)
            oracle.gradient(anchor)
            total = sum(oracle.difference(theta, anchor)[0] for _ in range(ASKED))
            hits += bool(total * BATCH / (2 * CLIP * ASKED) > threshold)
        counts += [hits, RUNS]
    return counts


def weakest_threshold(z):
    """Return the threshold at which cut noise is found out by the most."""
    drawn = np.arange(ASKED + 1)
    weights = binom.pmf(drawn, ASKED, BATCH / N)

    def tail(t, sign):
        return weights @ norm.sf((t - sign * drawn / ASKED) * np.sqrt(ASKED) / (CUT * z))

    return max(np.linspace(-0.2, 1.0, 61), key=lambda t: np.log(
        max(tail(t, 1) - DELTA, 1e-9) / (tail(t, -1) + 5.0 / RUNS)))


@pytest.fixture(scope="module")
def calibrated():
    # Anchors so noisy that the differences have the whole budget.
    plan = Differences(NoisySums(FullBatch(), 1, 1e6),
                       NoisySums(PoissonBatches(BATCH / N), ASKED), CLIP)
    return plan, calibrate(plan, CLAIM, DELTA)


@pytest.mark.audit
def test_differences_stay_under_the_claim(calibrated):
    plan, z = calibrated
    counts = differences_hits(weakest_threshold(z), z, plan)
    assert epsilon_lower_bound(*counts, delta=DELTA, level=LEVEL) <= CLAIM


@pytest.mark.audit
def test_differences_with_a_sixth_of_the_noise_exceed_the_claim(calibrated, noise_times):
    plan, z = calibrated
    noise_times(CUT)
    counts = differences_hits(weakest_threshold(z), z, plan)
    assert epsilon_lower_bound(*counts, delta=DELTA, level=LEVEL) > CLAIM
    assert mu_lower_bound(*counts, level=LEVEL) > 0

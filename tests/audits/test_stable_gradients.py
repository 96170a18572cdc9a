"""Case A7 of the list of audits: a hold-out answer without noise gives its row away.

One step of stable gradient descent on 100 rows a half, of which the neighbor changes one. The
claim is epsilon 1 and delta 0. Every bound rests on two Clopper-Pearson limits at level 5e-8.
"""

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Huber
from dpsk._objective.penalties import ElasticNet
from dpsk._privacy import accountant
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._problem import Problem
from dpsk._queries import CheckedGradients
from dpsk.auditing import epsilon_lower_bound

HALF, CLAIM, RUNS, LEVEL = 100, 1.0, 2_000, 5e-8


def targets(changed):
    """Targets of 1 and -1 that cancel, but for the last one."""
    y = np.where(np.arange(2 * HALF) % 2, -1.0, 1.0)
    y[-1] = changed
    return y


def printed_answer(training, holdout, rng):
    """One coordinate as printed: noise for the training half only, of the printed scale."""
    scale = 2.0 / (HALF * CLAIM)
    threshold = 3.0 * scale + rng.laplace(scale=2.0 * scale)
    if abs(training.mean() - holdout.mean()) + rng.laplace(scale=4.0 * scale) > threshold:
        return training.mean() + rng.laplace(scale=scale)
    return holdout.mean()


def printed_hits(changed, seed):
    """How often the answer is exactly the mean of the hold-out in which the row is 1."""
    rng = np.random.default_rng(seed)
    training, holdout = targets(1.0)[:HALF], targets(changed)[HALF:]
    exact = targets(1.0)[HALF:].mean()
    return sum(printed_answer(training, holdout, rng) == exact for _ in range(RUNS))


def test_a_holdout_answer_without_noise_breaks_the_printed_claim():
    bound = epsilon_lower_bound(printed_hits(1.0, 1), RUNS, printed_hits(-1.0, 2), RUNS,
                                delta=0.0, level=LEVEL)
    assert bound > 3.0 * CLAIM


class Fixed(EntropyStream):
    """A stream whose first words sort in order: the last row is in the hold-out half."""

    fresh = True

    def words(self, count):
        if self.fresh and count == 2 * HALF:
            self.fresh = False
            return np.arange(count, dtype=np.uint64)
        return super().words(count)


def oracle_hits(changed):
    """How often our answer exceeds 0.005; minus the derivative of a row is its target."""
    problem = Problem(n_samples=2 * HALF, model=LinearModel(1, None, False, 1.0),
                      loss=Huber(2.0), penalty=ElasticNet(0.0), epsilon=CLAIM, delta=0.0)
    declared = CheckedGradients(1.0, 1, pure=True)
    z = calibrate(declared, CLAIM, 0.0)
    rows = Rows(np.ones((2 * HALF, 1)), targets(changed))
    hits = 0
    for _ in range(RUNS):
        oracle = declared.run((problem, rows), Session(Fixed(), Ledger(declared(z))), z)
        hits += bool(-oracle.gradient(np.zeros(1))[0] > 0.005)
    return hits


@pytest.mark.thorough
def test_our_answers_stay_under_the_claim():
    """False-alarm rate at most 1e-7."""
    declared = CheckedGradients(1.0, 1, pure=True)
    z = calibrate(declared, CLAIM, 0.0)
    assert accountant.epsilon(declared(z), 0.0) <= CLAIM
    bound = epsilon_lower_bound(oracle_hits(1.0), RUNS, oracle_hits(-1.0), RUNS,
                                delta=0.0, level=LEVEL)
    assert bound <= CLAIM


@pytest.mark.thorough
def test_our_answers_with_weak_noise_exceed_the_claim(noise_times):
    """The audit would notice: at a twentieth of the noise the row is plain to see."""
    noise_times(1 / 20)
    bound = epsilon_lower_bound(oracle_hits(1.0), RUNS, oracle_hits(-1.0), RUNS,
                                delta=0.0, level=LEVEL)
    assert bound > CLAIM


def test_our_noise_covers_both_halves_and_the_changed_row_twice():
    z = calibrate(CheckedGradients(1.0, 1, pure=True), CLAIM, 0.0)
    # 1.25 T Delta / epsilon with Delta = 2 C / m, where C / m is the unit of z.
    assert np.isclose(z, 1.25 * 2.0)

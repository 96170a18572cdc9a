"""Which low-order bits of an answer survive tells nothing of the rows.

A product of noise and scale takes some doubles only. With all rows zero an answer that was not
rounded is such a product, on every one of its coordinates; with one dense row it is not.
"""

import numpy as np
import pytest
from scipy import sparse

from dpsk._data.source import Rows
from dpsk._mechanism.sensitivity import Noise, derived_scale
from dpsk._mechanism.session import Session
from dpsk._models import LinearModel
from dpsk._objective.losses import Logistic
from dpsk._objective.saddle import AUCSquare
from dpsk._privacy.batches import FullBatch, PoissonBatches
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import NoisySums
from dpsk._queries import Differences, SaddleDifferences, SaddleGradients
from dpsk._queries.differences import DifferenceOracle
from dpsk._queries.gradients import GradientOracle
from dpsk._queries.saddle import SaddleOracle
from dpsk._queries.saddle_difference import SaddleDifferenceOracle
from dpsk._sums.differences import DifferenceSums
from dpsk._sums.linear_sums import float_sums
from dpsk._sums.saddle_sums import SaddleSums
from tests.contracts.tapes import taped
from tests.noise.levels import binomial_fits

pytestmark = pytest.mark.thorough

N, D, TRIALS, CLIP = 1024, 40_000, 40, 0.5


def _rows(dense):
    """Return rows of zeros, but for a dense one if wanted."""
    X = sparse.lil_matrix((N, D))
    if dense:
        X[0] = np.random.default_rng(0).normal(size=D)
    return Rows(sparse.csr_matrix(X), np.arange(N) % 2.0)


def _gradients(rows, batches):
    sums = float_sums(LinearModel(D, None, False, 1.0), Logistic(), rows, CLIP)
    # One answer is claimed; the attack sees it made again and again.
    declared = NoisySums(batches, TRIALS)
    z = calibrate(NoisySums(batches, 1), 1.0, 1e-6)
    oracle = GradientOracle(sums, declared, z, Session(EntropyStream(), Ledger(declared(z))))
    return lambda: oracle.gradient(np.zeros(D))


def _differences(rows):
    sums = DifferenceSums(LinearModel(D, None, False, 1.0), Logistic(), rows, CLIP)
    declared = Differences(NoisySums(FullBatch(), 1), NoisySums(FullBatch(), TRIALS), CLIP)
    z = calibrate(NoisySums(FullBatch(), 1), 1.0, 1e-6)
    oracle = DifferenceOracle(sums, declared, z, Session(EntropyStream(), Ledger(declared(z))))
    anchor, theta = np.zeros(D), np.full(D, -3.0)
    oracle.gradient(anchor)
    return lambda: oracle.difference(theta, anchor)


def _saddle(rows):
    sums = SaddleSums(LinearModel(D, None, False, 1.0), AUCSquare(0.5), rows, CLIP, CLIP)
    declared = SaddleGradients(NoisySums(FullBatch(), TRIALS), 0.5, CLIP, CLIP)
    z = calibrate(NoisySums(FullBatch(), 1), 1.0, 1e-6)
    oracle = SaddleOracle(sums, declared, z, Session(EntropyStream(), Ledger(declared(z))))
    return lambda: oracle.gradients(np.zeros(sums.primal_size), np.zeros(1))[0]


def _saddle_differences(rows):
    sums = SaddleSums(LinearModel(D, None, False, 1.0), AUCSquare(0.5), rows, CLIP, CLIP)
    declared = SaddleDifferences(*(NoisySums(FullBatch(), count) for count in (1, 1, TRIALS)),
                                 CLIP, CLIP, (1.0, 1.0))
    z = calibrate(NoisySums(FullBatch(), 1), 1.0, 1e-6)
    oracle = SaddleDifferenceOracle(sums, declared, z,
                                    Session(EntropyStream(), Ledger(declared(z))))
    old = np.zeros(sums.primal_size), np.zeros(1)
    new = np.full(sums.primal_size, 3.0), np.full(1, 0.1)
    return lambda: oracle.difference(new, old)


ANSWERS = {"gd": lambda rows: _gradients(rows, FullBatch()),
           "sgd": lambda rows: _gradients(rows, PoissonBatches(0.5)), "svrg": _differences,
           "sgda": _saddle, "privatediff": _saddle_differences}
every_answer = pytest.mark.parametrize("name", ANSWERS)


def _reachable(answer, scale, divisor):
    """Return whether every coordinate is a product of scale and a double, divided."""
    near = answer * divisor / scale
    found = near * scale / divisor == answer
    for way in (-np.inf, np.inf):
        other = near
        for _ in range(2):
            other = np.nextafter(other, way)
            found |= other * scale / divisor == answer
    return bool(found.all())


def _attack(name, dense, trials=TRIALS):
    """Return how often an answer looks like noise alone, and its whole numbers of units."""
    ask, hits, odd, whole = ANSWERS[name](_rows(dense)), 0, 0, True
    for _ in range(trials):
        with taped() as tape:
            answer = ask()[:D]
        (event, *_), (noise, *_) = tape.events[-1], tape.parts[-1]
        divisor, unit = tape.public[0][0], noise.unit
        hits += any(_reachable(answer, one, divisor)
                    for one in (derived_scale(event, noise.sensitivity.moved), noise.scale))
        units = answer * (divisor / unit)
        whole &= bool(np.abs(units - np.rint(units)).max() < 2.0**-4)
        odd += int((np.rint(units) % 2).sum())
    return hits, odd, whole


@every_answer
def test_answers_of_no_rows_look_like_those_of_a_dense_row(name):
    """Limits of `binomial_fits` are at its own level: of 1.6e6 parities each."""
    for dense in (False, True):
        hits, odd, whole = _attack(name, dense)
        assert hits == 0 and whole
        assert binomial_fits(odd, TRIALS * D, 0.5)


@every_answer
def test_answers_that_were_not_rounded_would_give_the_rows_away(name, monkeypatch):
    def unrounded(noise, total, drawn, divisor):
        return (total + drawn * noise.scale) / divisor

    monkeypatch.setattr(Noise, "added", unrounded)
    assert _attack(name, dense=False)[0] > 0.75 * TRIALS
    hits, _, whole = _attack(name, dense=True, trials=10)
    assert not whole
    # A sample that misses the only dense row is one of zeros.
    assert hits == 0 or name == "sgd"

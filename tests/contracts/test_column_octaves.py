"""Octaves of columns are those of a high quantile of differences of pairs, at one choice each."""

import numpy as np
import pytest

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.column_octaves import N_CANDIDATES, noisy_column_octaves
from tests.contracts.columns import spread
from tests.contracts.tapes import taped

#: So little noise that the best octaves win, but with a chance below 1e-80.
EXACT = 0.01


def asked(X, tail=0.1, parts=1):
    """Return the released exponents, and the exact scores of every column."""
    rows = Rows(X, np.zeros(len(X)))
    declared = ExponentialChoices(X.shape[1], pure=False)
    with taped() as tape:
        found = noisy_column_octaves(
            rows if parts == 1 else spread(rows, parts), tail, declared.release(EXACT),
            Session(EntropyStream(), Ledger(declared(EXACT))))
    return found, np.array([total[0] for total in tape.totals])


def table(n=400, dtype=np.float64):
    """Return columns of many units, some far from 0, some rare, some constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 7)) * [1e-6, 1.0, 1e6, 5.0, 1.0, 0.0, 1e-13]
    X[:, 3] += 1e5
    X[:, 4] = rng.random(n) < 0.2
    X[:, 5] = 0.1
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parts", [1, 2])
def test_octaves_follow_units_and_not_offsets(dtype, parts):
    found, _ = asked(table(dtype=dtype), parts=parts)
    wanted = [np.log2(2e-6), 1.0, np.log2(2e6), np.log2(10.0)]
    assert np.abs(found[:4] - wanted).max() <= 2.0
    # Flags differ by 1; a column without differences, but for rounding errors, has no octave.
    assert found[4] == 1.0
    assert np.isneginf(found[5:]).all()


def test_a_tenth_of_real_differences_outweighs_tiny_ones():
    """The fullest octave is that of the noise, which made flags 256 times too long."""
    X = (np.random.default_rng(0).random((1000, 1)) < 0.1) + 0.003 * table(1000)[:, 1:2]
    assert asked(X)[0][0] in (0.0, 1.0)


def test_the_score_is_the_least_of_three_numbers_of_pairs():
    X, tail = np.zeros((100, 1)), 0.2
    X[50:, 0] = np.repeat([0.0, 1.0, 24.0], [30, 8, 12])
    _, (scores,) = asked(X, tail)
    expected = np.zeros(N_CANDIDATES)
    expected[0] = 2 * 10 - 20
    for e in range(-32, 41):
        pairs = {1: 8, 5: 12}
        near = sum(count * max(0.0, 1.0 - 0.25 * abs(e - own)) for own, count in pairs.items())
        here = sum(count for own, count in pairs.items() if own >= e)
        above = sum(count for own, count in pairs.items() if own > e)
        expected[e + 33] = min(here, near, 2 * 10 - above)
    np.testing.assert_array_equal(scores, expected)
    assert scores.argmax() == 5 + 33


def test_replacing_a_row_moves_no_score_by_more_than_1():
    rng = np.random.default_rng(0)
    X, worst = table(41), 0.0
    for _ in range(300):
        other = X.copy()
        other[rng.integers(41)] = rng.choice([0.0, 1.0, 1e300, -1.7e308, 5e-324, 0.1]) * (
            rng.normal(size=7) * 2.0 ** rng.integers(-50, 50, 7))
        tail = rng.choice([0.05, 0.1, 0.5])
        moved = np.abs(asked(X, tail)[1] - asked(other, tail)[1])
        worst = max(worst, moved.max())
        X = other
    assert worst == 1.0

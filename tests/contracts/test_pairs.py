"""Pairs of columns are chosen by the exponential mechanism, whose scores move by 1 at most."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._models.table_code import Indicators, LinearSplineBasis, TableCode
from dpsk._privacy.events import NotPrivate, tally
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics.pairs import clipped_residuals, noisy_pairs
from tests.contracts.streams import SilentStream
from tests.contracts.tapes import taped
from tests.noise.levels import LEVEL

pytestmark = pytest.mark.thorough

CODE = TableCode((LinearSplineBasis(np.array([0.0, 1.0, 3.0])), Indicators(["a", "b"]),
                  LinearSplineBasis(np.array([-1.0, 1.0]))))
CANDIDATES = [(0, 1), (0, 2), (1, 2)]
CLIP = 0.5
#: Cells of rows: on knots, between and beyond them, missing.
POOL = [(0.0, 0.0, -1.0), (3.0, 1.0, 1.0), (1.0, -1.0, 9.0), (0.4, 0.0, 0.3),
        (math.nan, 1.0, math.nan), (-5.0, -1.0, 0.0)]


def even():
    return [np.ones(part.width) for part in CODE.parts]


def asked(cells, residuals, z=2.0, count=1, directions=None, candidates=CANDIDATES, plan=None):
    """Return the chosen pairs, and the tape."""
    residuals = np.reshape(np.asarray(residuals, float), (len(cells), -1))
    rows = Rows(CODE.features(np.asarray(cells, float)), clipped_residuals(residuals, None, CLIP))
    declared = ExponentialChoices(1, False)
    session = Session(EntropyStream(), Ledger(ExponentialChoices(count, False)(plan or z)))
    with taped() as tape:
        pairs = noisy_pairs(rows, CODE.slices, even() if directions is None else directions,
                            candidates, CLIP, count, declared.release(z), session)
    return pairs, tape


def scores(cells, residuals, directions=None):
    return asked(cells, residuals, directions=directions)[1].totals[0][0]


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_the_definition(n_outputs, seed):
    rng = np.random.default_rng(seed)
    cells = np.array([POOL[place] for place in rng.integers(len(POOL), size=20)])
    residuals = rng.normal(size=(20, n_outputs))
    directions = [rng.normal(size=part.width) for part in CODE.parts]
    features = CODE.features(cells).astype(float)
    clipped = residuals * np.minimum(1, CLIP / np.linalg.norm(residuals, axis=1))[:, None]
    beside = [np.eye(len(each)) - np.outer(each, each) / (each @ each) for each in directions]
    expected = []
    for one, other in CANDIDATES:
        first, second = (features[:, CODE.slices[place]] @ beside[place] for place in (one, other))
        table = np.einsum("ir,ij,ik->rjk", clipped, first, second)
        expected.append(np.linalg.norm(table) / (2 * CLIP))
    # A score is rounded to 2^-20.
    np.testing.assert_allclose(scores(cells, residuals, directions),
                               [*expected, math.sqrt(20) / 2], atol=2e-6)


@pytest.mark.parametrize("directed", [False, True])
def test_no_row_in_another_s_place_moves_a_score_by_more_than_one(directed):
    """Rows of all kinds, with residuals of either sign and far beyond the clip."""
    rng = np.random.default_rng(0)
    directions = [np.eye(part.width)[0] for part in CODE.parts] if directed else None
    largest = 0.0
    for n_others in (1, 4):
        others = [POOL[place] for place in rng.integers(len(POOL), size=n_others)]
        for left in ([0.0] * n_others, rng.normal(size=n_others).tolist()):
            found = [scores([row, *others], [residual, *left], directions)
                     for row, residual in itertools.product(POOL, (-9e9, -0.2, 0.0, 0.5, 1e300))]
            for here, there in itertools.combinations(found, 2):
                moved = np.abs(here - there)
                assert moved.max() <= 1.0 and moved[-1] == 0.0
                largest = max(largest, moved.max())
    assert largest > 0.2


def test_a_score_is_all_but_attained_to_move_by_one():
    """Two rows of one kind, with residuals that agree or cancel: a table of 2 C, or none."""
    kind = POOL[1]
    directions = [np.eye(part.width)[0] for part in CODE.parts]
    agree, cancel = (scores([kind, kind], signs, directions) for signs in ((9, 9), (-9, 9)))
    assert 1 - 1e-5 < (agree - cancel)[:3].max() <= 1.0


def test_choices_follow_the_exponential_mechanism():
    """Of 3000 draws more than 30 are expected of each; the chi-squared test rejects at LEVEL."""
    rng, z, runs = np.random.default_rng(2), 0.8, 3000
    cells, residuals = [POOL[place] for place in rng.integers(4, size=9)], np.ones(9)
    given = scores(cells, residuals)
    picks = [(asked(cells, residuals, z)[0] or [None])[0] for _ in range(runs)]
    seen = [picks.count(pair) for pair in [*CANDIDATES, None]]

    def fits(factor):
        assert (factor != 1.0) or (law(1.0).min() * runs > 30)
        return stats.chisquare(seen, runs * law(factor)).pvalue > LEVEL

    def law(factor):
        weights = np.exp((given - given.max()) * 2.0 / (z * factor))
        return weights / weights.sum()

    assert fits(1.0)
    assert not fits(1 / 2) and not fits(2.0)


def test_a_pair_leaves_once_and_what_is_charged_and_drawn_follows_no_row():
    rng = np.random.default_rng(1)
    for residuals in (np.zeros(30), rng.normal(size=30), np.full(30, 1e300)):
        cells = [POOL[place] for place in rng.integers(len(POOL), size=30)]
        pairs, tape = asked(cells, residuals, count=5)
        assert len(set(pairs)) == len(pairs) and set(pairs) <= set(CANDIDATES)
        assert [noise.size for noise in tape.noise] == [len(CANDIDATES) + 1] * 5
        events = ExponentialChoices(5, False)(2.0)
        assert sum(map(len, tape.events)) == 5 and {tape.events[0][0]} == set(tally(events))


def test_residuals_without_a_pattern_choose_none():
    cells = POOL * 10
    assert asked(cells, np.zeros(60), z=1e-3, count=3)[0] == []
    # And one that a pair explains chooses it.
    cells = np.array(list(itertools.product((0.0, 3.0), (0.0, 1.0), (-1.0, 1.0))) * 20)
    residuals = np.where((cells[:, 0] == 0) == (cells[:, 1] == 0), 0.5, -0.5)
    assert asked(cells, residuals, z=1e-3, count=3)[0] == [(0, 1)]


def test_without_noise_nothing_is_drawn():
    cells = np.array(list(itertools.product((0.0, 3.0), (0.0, 1.0), (-1.0, 1.0))) * 20)
    residuals = np.where((cells[:, 0] == 0) == (cells[:, 2] < 0), 0.5, -0.5)[:, None]
    session = Session(SilentStream(bytes(16)), Ledger(NotPrivate()))
    assert noisy_pairs(Rows(CODE.features(cells), residuals), CODE.slices, even(), CANDIDATES,
                       CLIP, 2, NotPrivate(), session) == [(0, 2)]


def test_what_is_not_declared_is_not_released():
    with pytest.raises(RuntimeError, match="not in the declared plan"):
        asked(POOL, np.zeros(len(POOL)), z=1.0, plan=2.0)


def test_residuals_are_clipped_by_rows_and_copied():
    given = np.array([[3.0, 4.0], [0.1, 0.0], [np.nan, 1.0], [np.inf, 0.0], [0.0, 0.0]])
    before = given.copy()
    with np.errstate(all="ignore"):
        found = clipped_residuals(given, np.array([1.0, 2.0, 1.0, 1.0, 5.0]), CLIP)
    np.testing.assert_array_equal(given, before)
    assert (np.linalg.norm(found, axis=1) <= CLIP).all()
    np.testing.assert_allclose(found[:2], [[0.3, 0.4], [0.2, 0.0]], rtol=1e-6)
    np.testing.assert_array_equal(found[2:], 0.0)

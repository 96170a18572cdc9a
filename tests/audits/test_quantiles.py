"""A quantile, audited as it leaves its release.

One number stands alone between two wide gaps, and the rest at the ends: with its rank on one side
of it or on the other, the points below are right and those above one off, or the reverse. That
pair all but attains the price of a choice: at range e sides have chances of ``expit(+-e/2)``, but
for the one point in the middle. Levels, plans and bounds are those of the audit of vertices.

Of quantiles of parts of the rows, a row is replaced within a part in the same way. Or it moves to
another part, and changes the choice in both by half: there it is the middle one of the part that
it is in, whose other rows are one more below than above.
"""

from dataclasses import replace

import numpy as np
import pytest
from audit_settings import EPSILON, LEVEL
from test_choices import CLAIMS, SHARP, X, every_plan, measured

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.calibration import calibrate
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._privacy.plans import ExponentialChoices
from dpsk._statistics import column_octaves
from dpsk._statistics.cells import noisy_decimals
from dpsk._statistics.column_octaves import noisy_column_octaves
from dpsk._statistics.quantiles import noisy_quantile
from dpsk.auditing import mu_lower_bound
from tests.contracts.columns import column, first

GRID, END = np.arange(-60.0, 61.0), 1e3


def sides(delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return the sides chosen in independent runs at the calibrated noise, and its range."""
    declared = ExponentialChoices(steps, pure=delta == 0)
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    below = 5 if rows is X else 4
    numbers = column(np.repeat([-END, 0.0, END], [below, 1, 9 - below]))
    points = [noisy_quantile(numbers, first, 0.5, GRID, declared.release(noise), session)
              for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(points) < 0, 1.0, -1.0), (runs, steps)), 4.0 / noise


@pytest.mark.audit
@every_plan
def test_quantiles_stay_under_the_claim(plan):
    epsilon, mu = measured(plan, sides)
    assert epsilon <= EPSILON
    assert mu <= CLAIMS[plan]


@pytest.mark.audit
@every_plan
def test_noise_cut_to_a_third_exceeds_the_claim(plan, noise_times):
    noise_times(1 / 3)
    epsilon, mu = measured(plan, sides)
    assert epsilon > SHARP[plan]
    assert mu > CLAIMS[plan] or CLAIMS[plan] == np.inf


MU, EDGE = 2.5, 60.0


def parted(*parts):
    """Return rows, given how many are below, in the middle and above in every part."""
    numbers = [np.repeat([-EDGE, 0.0, EDGE], counts) for counts in parts]
    codes = np.repeat(np.arange(len(parts)), [len(own) for own in numbers])
    return Rows(np.concatenate(numbers)[:, None], codes.astype(float))


PAIRS = {"within": (parted((5, 1, 4), (3, 0, 3)), parted((4, 1, 5), (3, 0, 3))),
         "across": (parted((5, 1, 4), (5, 0, 4)), parted((5, 0, 4), (5, 1, 4)))}


def shown_by_parts(pair, runs=2000):
    """Return a lower bound on mu, from how often the first median is below the second one."""
    event, hits = Gaussian(MU), []
    session = Session(EntropyStream(), Ledger(Repeated(event, 2 * runs)))
    for rows in PAIRS[pair]:
        medians = [noisy_decimals(rows, first, 0.5, np.zeros(2), event, session, True,
                                  (-EDGE, EDGE), step=1.0, parted=True) for _ in range(runs)]
        hits.append(sum(one < 0.0 and (pair == "within" or other >= 0.0)
                        for one, other in medians))
    return mu_lower_bound(hits[0], runs, hits[1], runs, level=LEVEL)


@pytest.mark.audit
@pytest.mark.parametrize("pair", PAIRS)
def test_medians_of_parts_show_no_more_than_their_price(pair):
    assert shown_by_parts(pair) <= MU


@pytest.mark.audit
@pytest.mark.parametrize("pair", PAIRS)
def test_a_third_of_the_noise_shows_more_and_within_a_part_more_than_the_price(pair, noise_times):
    assert shown_by_parts(pair) > (0.7 if pair == "within" else 0.2) * MU
    noise_times(1 / 3)
    assert shown_by_parts(pair) > (1.0 if pair == "within" else 0.5) * MU


@pytest.fixture
def two_octaves(monkeypatch):
    """Offer only the two octaves, so that noise decides between these."""
    def best_point(scores, grid, event, session):
        places = np.flatnonzero(np.isin(grid, (4.0, -2.0)))
        return chosen(lambda inside: scores(inside)[places], grid[places], event, session)

    chosen = column_octaves.best_point
    monkeypatch.setattr(column_octaves, "best_point", best_point)


def octaves(delta, steps, runs, rows=X, epsilon=EPSILON):
    """Return the octaves chosen in independent runs at the calibrated noise, and its range.

    Five pairs of rows differ by 8, by 1/8 twice, and by 0 twice. In the other table one of the
    pairs that differ by 1/8 differs by 8. Of the two octaves, the better one is 1 ahead in either
    table. That pair attains the price of a choice.
    """
    declared = ExponentialChoices(steps, pure=delta == 0)
    noise = calibrate(declared, epsilon, delta)
    session = Session(EntropyStream(), Ledger(replace(declared, count=steps * runs)(noise)))
    sizes = np.array([8.0, 8.0 if rows is X else 0.125, 0.125, 0.0, 0.0])
    pairs = Rows(np.concatenate([np.zeros(5), sizes])[:, None], np.zeros(10))
    found = [noisy_column_octaves(pairs, 0.5, declared.release(noise), session)[0]
             for _ in range(steps * runs)]
    return np.reshape(np.where(np.array(found) > 0, 1.0, -1.0), (runs, steps)), 4.0 / noise


@pytest.mark.audit
@every_plan
def test_octaves_of_columns_stay_under_the_claim(plan, two_octaves):
    epsilon, mu = measured(plan, octaves)
    assert epsilon <= EPSILON
    assert mu <= CLAIMS[plan]


@pytest.mark.parametrize("plan", [
    pytest.param("pure", marks=pytest.mark.audit),
    pytest.param("gaussian", marks=pytest.mark.thorough)])
def test_noise_of_octaves_cut_to_a_third_exceeds_the_claim(plan, noise_times, two_octaves):
    noise_times(1 / 3)
    epsilon, mu = measured(plan, octaves)
    assert epsilon > SHARP[plan]
    assert mu > CLAIMS[plan] or CLAIMS[plan] == np.inf

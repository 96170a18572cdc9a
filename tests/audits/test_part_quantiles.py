"""Quantiles of parts of the rows, audited as they leave their release.

A row is replaced within a part, which all but attains the price of the choices: see the audit of
quantiles. Or it moves to another part, and changes the choice in both by half. In this pair the
row is the middle one of the part that it is in, whose other rows are one more below than above.
"""

import numpy as np
import pytest
from audit_settings import LEVEL

from dpsk._data.source import Rows
from dpsk._mechanism.session import Session
from dpsk._privacy.events import Gaussian, Repeated
from dpsk._privacy.ledger import Ledger
from dpsk._privacy.noise.streams import EntropyStream
from dpsk._statistics.cells import noisy_decimals
from dpsk.auditing import mu_lower_bound
from tests.contracts.columns import first

MU, END = 2.5, 60.0


def table(*parts):
    """Return rows, given how many are below, in the middle and above in every part."""
    numbers = [np.repeat([-END, 0.0, END], counts) for counts in parts]
    codes = np.repeat(np.arange(len(parts)), [len(own) for own in numbers])
    return Rows(np.concatenate(numbers)[:, None], codes.astype(float))


PAIRS = {"within": (table((5, 1, 4), (3, 0, 3)), table((4, 1, 5), (3, 0, 3))),
         "across": (table((5, 1, 4), (5, 0, 4)), table((5, 0, 4), (5, 1, 4)))}


def shown(pair, runs=2000):
    """Return a lower bound on mu, from how often the first median is below the second one."""
    event, hits = Gaussian(MU), []
    session = Session(EntropyStream(), Ledger(Repeated(event, 2 * runs)))
    for rows in PAIRS[pair]:
        medians = [noisy_decimals(rows, first, 0.5, np.zeros(2), event, session, True,
                                  (-END, END), whole=True, parted=True) for _ in range(runs)]
        hits.append(sum(one < 0.0 and (pair == "within" or other >= 0.0)
                        for one, other in medians))
    return mu_lower_bound(hits[0], runs, hits[1], runs, level=LEVEL)


@pytest.mark.audit
@pytest.mark.parametrize("pair", PAIRS)
def test_medians_of_parts_show_no_more_than_their_price(pair):
    assert shown(pair) <= MU


@pytest.mark.audit
@pytest.mark.parametrize("pair", PAIRS)
def test_a_third_of_the_noise_shows_more_and_within_a_part_more_than_the_price(pair, noise_times):
    assert shown(pair) > (0.7 if pair == "within" else 0.2) * MU
    noise_times(1 / 3)
    assert shown(pair) > (1.0 if pair == "within" else 0.6) * MU

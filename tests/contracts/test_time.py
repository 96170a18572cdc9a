"""How often and how many rows are read is the same for every table of the same public facts.

What is counted stands for time: no limit is put on seconds.
"""

from unittest import mock

import numpy as np
import pytest

from dpsk._data.source import Rows
from tests.contracts.tapes import every_case, fixed_streams, kinds_of, make, table

pytestmark = pytest.mark.covering

#: Its Newton steps end when the gradient is small enough, and so follow the rows.
_FOLLOWS_ROWS = "objective_perturbation"


def reads(model, data):
    """Return the number of rows of every block that a fit reads, in order."""
    sizes, take = [], Rows.take

    def watched(rows, part):
        sizes.append(len(np.arange(rows.n)[part]))
        return take(rows, part)

    with fixed_streams(), mock.patch.object(Rows, "take", watched):
        data.fit(model)
    return sizes


@every_case
def test_what_is_read_does_not_follow_the_rows(cls, solver, variant):
    if solver == _FOLLOWS_ROWS:
        return
    counts = [reads(make(cls, solver, variant), table(cls, variant, kind))
              for kind in ("ordinary", *kinds_of(variant))]
    assert len(counts[0]) > 0
    assert all(count == counts[0] for count in counts)

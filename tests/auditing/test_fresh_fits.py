"""Tests of an audit are judged on fresh fits alone, whose order tells no table."""

import numpy as np

from dpsk.auditing import audit
from tests.auditing.test_audit import NoisyTotal


class Counting(NoisyTotal):
    """Tells how many fits there were, modulo four, and nothing of rows."""

    def fit(self, X, y=None):
        super().fit(X, y)
        Counting.fits = getattr(Counting, "fits", 0) + 1
        self.turn_ = Counting.fits % 4
        return self


def test_what_repeats_every_few_fits_tells_no_table():
    """False-alarm rate at most 1e-7."""
    pair = tuple({"X": np.full((4, 1), entry)} for entry in (-2.0, -1.0))
    assert not audit(Counting(), neighbors=[pair], runs=200, level=1e-7).refuted


def test_tests_are_judged_on_fresh_fits_alone():
    found = audit(NoisyTotal(), runs=100, level=1e-7)
    assert found.evidence[-1].runs == 100

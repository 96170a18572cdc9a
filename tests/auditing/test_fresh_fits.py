"""Tests of an audit are judged on fresh fits alone, of tables as given and in no pattern."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dpsk.auditing import audit
from tests.auditing.test_audit import NoisyTotal


class Counting(NoisyTotal):
    """Tells how many fits there were, modulo four, and nothing of rows."""

    def fit(self, X, y=None):
        super().fit(X, y)
        Counting.fits = getattr(Counting, "fits", 0) + 1
        self.turn_ = Counting.fits % 4
        return self


class Erasing(BaseEstimator):
    """Publishes the total without noise, and leaves nothing of it in the table."""

    def fit(self, X, y=None):
        self.total_ = float(X.sum())
        X[:] = 0.0
        return self


def test_what_a_fit_writes_into_its_table_hides_nothing_from_later_ones():
    pair = tuple({"X": np.full((4, 1), entry)} for entry in (-2.0, -1.0))
    assert audit(Erasing(), neighbors=[pair], claim=1.0, runs=40).refuted
    assert [table["X"][0, 0] for table in pair] == [-2.0, -1.0]


@pytest.mark.thorough
def test_what_repeats_every_few_fits_tells_no_table():
    """False-alarm rate at most 1e-7."""
    pair = tuple({"X": np.full((4, 1), entry)} for entry in (-2.0, -1.0))
    assert not audit(Counting(), neighbors=[pair], runs=200, level=1e-7).refuted


@pytest.mark.thorough
def test_tests_are_judged_on_fresh_fits_alone():
    found = audit(NoisyTotal(), runs=100, level=1e-7)
    assert found.evidence[-1].runs == 100

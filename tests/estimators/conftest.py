"""Fixtures of the tests of estimators."""

import pytest

from dpsk import _base


@pytest.fixture(autouse=True)
def longest_rounds(monkeypatch):
    """Let every public draw of a number of rounds be the largest.

    Plans follow the draw, and tests here compare the plans of several fits.
    """
    monkeypatch.setattr(_base, "random_index", lambda stream, stop: stop - 1)

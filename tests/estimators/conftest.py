"""Fixtures of the tests of estimators."""

import pytest

from dpsk import _fit


@pytest.fixture(autouse=True)
def longest_rounds(monkeypatch):
    """Let every public draw of a number of rounds be the largest.

    Plans follow the draw, and tests here compare the plans of several fits.
    """
    monkeypatch.setattr(_fit, "random_index", lambda stream, stop: stop - 1)

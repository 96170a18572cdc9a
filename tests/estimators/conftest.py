"""Fixtures of the tests of estimators."""

import pytest

from dpsk import _fit
from dpsk._privacy.noise import streams


@pytest.fixture(autouse=True)
def longest_rounds(monkeypatch):
    """Let every public draw of a number of rounds be the largest.

    Plans follow the draw, and tests here compare the plans of several fits.
    """
    monkeypatch.setattr(_fit, "random_index", lambda stream, stop: stop - 1)


@pytest.fixture
def silent(monkeypatch):
    """Fail where noise is drawn."""
    for stream in (streams.EntropyStream, streams.KeyedStream):
        monkeypatch.setattr(stream, "words", lambda self, count: pytest.fail("noise was drawn"))

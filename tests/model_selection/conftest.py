"""Fixtures of the tests of searches."""

import pytest

from dpsk._privacy.noise import streams


@pytest.fixture
def silent(monkeypatch):
    """Fail where noise is drawn."""
    for stream in (streams.EntropyStream, streams.KeyedStream):
        monkeypatch.setattr(stream, "words", lambda self, count: pytest.fail("noise was drawn"))

"""Fixtures of the contract tests."""

import pytest

from dpsk import _fit
from dpsk._privacy.ledger import Ledger


@pytest.fixture
def ledgers(monkeypatch):
    """Collect the ledgers that fits open."""
    opened = []

    class Kept(Ledger):
        def __init__(self, plan):
            super().__init__(plan)
            opened.append(self)

    monkeypatch.setattr(_fit, "Ledger", Kept)
    return opened

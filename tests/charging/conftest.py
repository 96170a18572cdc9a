"""Blocks are tested where nothing is frozen, as usual; elsewhere the tests themselves are."""

import gc

import pytest


@pytest.fixture(autouse=True)
def thawed():
    gc.unfreeze()
    yield
    gc.freeze()

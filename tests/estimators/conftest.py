"""Fixtures of the tests of estimators."""

import pytest


@pytest.fixture(autouse=True)
def rounds_that_are_alike(longest_rounds):
    """Plans follow the draw of their rounds, and tests here compare the plans of several fits."""

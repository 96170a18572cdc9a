"""What tests of several folders are given."""

import gc

import pytest


def pytest_collection_finish(session):
    """Leave the tests themselves out of every later search for garbage, a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are an extra")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")

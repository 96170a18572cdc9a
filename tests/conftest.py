"""What tests of several folders are given."""

import gc
import math

import pytest

from dpsk import _progress


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looks for garbage: tens of thousands of tests are kept, and nothing else."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def nothing_left_to_look_at():
    """Blocks look at all objects, and those of thousands of earlier tests are many."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_lines_of_slow_fits(monkeypatch):
    """What fits print is the same on a busy machine, where they may take seconds."""
    monkeypatch.setattr(_progress, "_EVERY", math.inf)


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are an extra")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")

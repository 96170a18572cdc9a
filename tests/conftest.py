"""What tests of several folders are given."""

import gc
import os
from pathlib import Path

import pytest

from tests import instruments
from tests.covering import leave_the_rest_to_thorough, make_no_cases_of

#: Its tests are about streams themselves.
_NOISE = Path(__file__).parent / "noise"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looks for garbage: tens of thousands of tests are kept, and nothing else."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Split products between `make test` and `make thorough` before marks select."""
    leave_the_rest_to_thorough(items)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Make the cases of `make audit` where they are run alone."""
    if "not audit" in metafunc.config.getoption("markexpr"):
        make_no_cases_of("audit", metafunc.definition)


@pytest.fixture(autouse=True, scope="module")
def nothing_left_to_look_at():
    """Blocks look at all objects, and those of thousands of earlier tests are many."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_lines_of_slow_fits(monkeypatch):
    """What fits print is the same on a busy machine, where they may take seconds."""
    instruments.print_no_lines(monkeypatch)


@pytest.fixture(autouse=True)
def the_same_noise_in_every_run(request, monkeypatch):
    """A test that fails once in many runs fails again, or in none; audits draw fresh noise."""
    fresh = request.node.get_closest_marker("audit") or "DPSK_FRESH_NOISE" in os.environ
    if not (fresh or _NOISE in request.path.parents):
        instruments.repeat_noise(monkeypatch, request.node.nodeid)


@pytest.fixture(autouse=True)
def no_block_of_a_test_is_open_in_the_next():
    """Work that goes on holds a block open, and programmes that later tests start are told so."""
    yield
    instruments.end_blocks()


@pytest.fixture
def silent(monkeypatch):
    """Fail where noise is drawn."""
    instruments.forbid_noise(monkeypatch)


@pytest.fixture
def ledgers():
    """Collect the ledgers that fits open."""
    with instruments.watched_ledgers() as opened:
        yield opened


@pytest.fixture
def longest_rounds():
    """Let every public draw of a number of rounds be the largest."""
    with instruments.longest_rounds():
        yield


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are an extra")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")

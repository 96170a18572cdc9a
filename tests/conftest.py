"""What tests of several folders are given."""

import pytest


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are an extra")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")

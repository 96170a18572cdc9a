"""Fixtures of the audits."""

import pytest

from dpsk._privacy.noise import samplers
from dpsk._queries.gradients import GradientOracle


@pytest.fixture
def noise_times(monkeypatch):
    """Return a function that multiplies all noise by a factor for the rest of the test.

    No parameter of the package does this. A mechanism that is missing here keeps its full
    noise, and the tests that expect weaker noise then fail.
    """
    laws = {name: getattr(samplers, name) for name in samplers.__all__
            # Made of normals, it has their factor already; a direction has none.
            if name != "symmetric_normal"}

    noise_std = GradientOracle.noise_std.fget

    def set_factor(factor):
        # What the noise of a fit explains is less then, too.
        monkeypatch.setattr(GradientOracle, "noise_std", property(
            lambda oracle: factor * noise_std(oracle)))
        for name, law in laws.items():
            monkeypatch.setattr(samplers, name, lambda stream, shape, law=law:
                                factor * law(stream, shape))

    return set_factor


@pytest.fixture
def means(noise_times):
    """Return a function from a release to its noise-free answers on the two tables."""
    def found(release):
        noise_times(0.0)
        answers = release(1.0), release(-1.0)
        noise_times(1.0)
        return answers

    return found

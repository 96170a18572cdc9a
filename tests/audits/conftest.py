"""Fixtures of the audits."""

import pytest

from dpsk._privacy.noise import samplers


@pytest.fixture
def noise_times(monkeypatch):
    """Return a function that multiplies all noise by a factor for the rest of the test.

    No parameter of the package does this. A mechanism that is missing here keeps its full
    noise, and the tests that expect weaker noise then fail.
    """
    normal, gamma_norm = samplers.standard_normal, samplers.gamma_norm_noise
    laplace, gumbel = samplers.laplace, samplers.gumbel_noise

    def set_factor(factor):
        monkeypatch.setattr(samplers, "standard_normal",
                            lambda stream, shape: factor * normal(stream, shape))
        monkeypatch.setattr(samplers, "laplace",
                            lambda stream, shape: factor * laplace(stream, shape))
        monkeypatch.setattr(samplers, "gamma_norm_noise",
                            lambda stream, shape, scale: gamma_norm(stream, shape, factor * scale))
        monkeypatch.setattr(samplers, "gumbel_noise",
                            lambda stream, shape, scale: gumbel(stream, shape, factor * scale))

    return set_factor

"""Reproducible noise for tests and research; never for publishing private results."""

from dpsk._privacy.noise.seeds import NoiseSeed

__all__ = ["NoiseSeed"]

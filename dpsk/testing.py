"""Repeatable noise, for tests and research: never for a release."""

from dpsk._privacy.noise.seeds import NoiseSeed

__all__ = ["NoiseSeed"]

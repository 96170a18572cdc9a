"""Samplers, which draw rows like those that they were fitted to."""

from dpsk.generative._gaussian import DPGaussianSampler

__all__ = ["DPGaussianSampler"]

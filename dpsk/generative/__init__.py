"""Samplers, which draw rows like those that they were fitted to."""

from dpsk.generative._gaussian import DPGaussianSampler
from dpsk.generative._tree import DPTreeSampler

__all__ = ["DPGaussianSampler", "DPTreeSampler"]
